import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { type FileAddress, type Progress, addressOf, download } from './download.ts';
import { counted } from './amounts.ts';
import { sentenceOf } from './parts.tsx';
import { FaultText } from './fault-text.tsx';

interface FileExportProps extends FileAddress {
  readonly label: string;
  /** The name of the file, where the page saves it. */
  readonly name: string;
  readonly isLast?: (line: string) => boolean;
}

/** A download. Without a secure context the browser does not say that a page of the gateway has asked, so the page itself loads and saves the file. */
export const FileExport = (props: FileExportProps) =>
  isSecureContext ? (
    <a class="button small plain" href={addressOf(props)} download>
      {props.label}
    </a>
  ) : (
    <SavedFile {...props} />
  );

/** A button that downloads a large file, with its progress. */
function SavedFile({ label, ...file }: FileExportProps) {
  const [progress, setProgress] = useState<Progress>();
  const [words, setWords] = useState('');
  const [fault, setFault] = useState('');
  const running = useRef<AbortController>(undefined);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => () => running.current?.abort(), []);
  const isRunning = running.current !== undefined;
  const end = () => {
    running.current?.abort();
    button.current?.focus();
  };
  const start = async () => {
    if (running.current) return;
    running.current = new AbortController();
    const { signal } = running.current;
    setFault('');
    setWords('The export has begun.');
    setProgress({ bytes: 0, lines: 0 });
    let last: Progress = { bytes: 0, lines: 0 };
    const onProgress = (next: Progress) => {
      last = next;
      setProgress(next);
    };
    const found = await download({ ...file, signal, onProgress });
    running.current = undefined;
    setProgress(undefined);
    setFault(found ? sentenceOf(found) : '');
    setWords(
      found === undefined
        ? `The export is complete: ${wordsOf(last)}.`
        : found === ''
          ? 'The export was canceled.'
          : '',
    );
  };
  return (
    <span class="action">
      <Button ref={button} aria-disabled={isRunning} onClick={() => void start()}>
        {label}
      </Button>
      {progress && (
        <>
          <span class="soft">{wordsOf(progress)}</span>
          <Button onClick={end}>Cancel</Button>
        </>
      )}
      <span class="soft" role="status">
        {words}
      </span>
      <FaultText text={fault} />
    </span>
  );
}

const KILOBYTES = new Intl.NumberFormat(undefined, { style: 'unit', unit: 'kilobyte' });

function wordsOf({ bytes, lines }: Progress): string {
  return `${counted(lines, 'line')}, ${KILOBYTES.format(Math.ceil(bytes / 1000))}`;
}
