import { useEffect, useRef, useState } from 'preact/hooks';
import { run } from '../parts/api.ts';
import { patchLines } from './file-diffs.ts';
import { usePages } from '../parts/hooks.ts';
import { LoadMore } from '../parts/load-more.tsx';
import type { Answers } from '../generated/operation-types.ts';
import { Action, Badge, Faults, Time, wordsOf } from '../parts/parts.tsx';
import { Changes } from './timeline-body.tsx';

/** The results of a session: its artifacts with their pull requests, page by page. */

type Artifact = NonNullable<NonNullable<Answers['Artifacts']['session']>['artifacts']>['nodes'][number];
type PullRequests = NonNullable<Artifact['pullRequests']>;
type PullRequest = PullRequests['nodes'][number];

interface ResultsProps {
  readonly id: string;
  /** Changes when a result is recorded. */
  readonly version: string;
}

export function Results({ id, version }: ResultsProps) {
  const list = usePages('Artifacts', { id }, ({ session }) => session?.artifacts);
  const known = useRef(version);
  useEffect(() => {
    if (known.current !== version) list.reload('quiet');
    known.current = version;
  }, [version]);
  if (list.rows.length === 0) return list.faults.length > 0 ? <Faults faults={list.faults} /> : null;
  return (
    <section class="results" aria-labelledby="results-title">
      <h2 id="results-title">Results</h2>
      <Faults faults={list.faults} />
      {list.rows.map((artifact) => (
        <ArtifactResults key={artifact.id} artifact={artifact} />
      ))}
      {list.hasMore && <LoadMore label="More results" load={list.loadMore} />}
    </section>
  );
}

function ArtifactResults({ artifact }: { readonly artifact: Artifact }) {
  const { id, type, createdAt, pullRequests: first } = artifact;
  const [more, setMore] = useState<readonly PullRequests[]>([]);
  const [faults, setFaults] = useState<Parameters<typeof Faults>[0]['faults']>([]);
  const pages = first ? [first, ...more] : more;
  const pulls = pages.flatMap(({ nodes }) => nodes);
  const last = pages.at(-1)?.pageInfo;
  const load = async () => {
    const { data, faults: found } = await run('PullRequests', { id, after: last?.endCursor ?? null });
    setFaults(found);
    const page = data?.node && 'pullRequests' in data.node ? data.node.pullRequests : null;
    if (page) setMore((before) => [...before, page]);
  };
  if (pulls.length === 0)
    return (
      <p>
        {wordsOf(type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_'))}{' '}
        <span class="soft">
          <Time at={createdAt} />
        </span>
      </p>
    );
  return (
    <div>
      <ul class="pulls" aria-label="Pull requests">
        {pulls.map((pull) => (
          <Pull key={pull.id} pull={pull} />
        ))}
      </ul>
      <Faults faults={faults} />
      {last?.hasNextPage && <LoadMore label="More pull requests" load={load} />}
    </div>
  );
}

/** A pull request, with its changes on demand: they can be large. */
function Pull({ pull }: { readonly pull: PullRequest }) {
  const { id, title, url, status, isDraft, sourceBranch, author, updatedAt } = pull;
  const [diff, setDiff] = useState<string>();
  const show = async () => {
    if (diff !== undefined) {
      setDiff(undefined);
      return undefined;
    }
    const { data, faults } = await run('PullRequestDiff', { id });
    if (data?.node && 'diff' in data.node) setDiff(data.node.diff.data);
    return faults[0]?.message;
  };
  return (
    <li>
      <Badge value={status} />{' '}
      <a href={safeLink(url)} rel="noreferrer">
        {title}
      </a>{' '}
      <span class="soft">
        {isDraft && 'Draft · '}
        <code>{sourceBranch}</code> · {author.login} · <Time at={updatedAt} />
      </span>{' '}
      <Action label={diff === undefined ? 'Show changes' : 'Hide changes'} run={show} />
      {diff !== undefined && Changes({ path: '', lines: patchLines(diff) })}
    </li>
  );
}

/** The URL if it is HTTP. A runner wrote it, and other schemes could run a script. */
const safeLink = (url: string): string | undefined => (/^https?:/i.test(url) ? url : undefined);
