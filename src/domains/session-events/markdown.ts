import type { SessionUsage } from '../sessions/public.ts';
import { contained, fenced, inline } from './contained-text.ts';
import type { EntryRow } from './entry-queries.ts';

/** Writes a session as a person reads it. What is not quoted and not in a block of code is written by the gateway. */

export interface MarkdownHead {
  readonly title: string;
  readonly agent: string | null;
  readonly state: string;
  readonly createdAt: string;
  readonly usage: SessionUsage;
}

export type WrittenEntry = Pick<EntryRow, 'kind' | 'subagentId' | 'toolName' | 'isFailed' | 'isOpen' | 'outputId'> & {
  readonly content: Pick<EntryRow['content'], 'text' | 'output'>;
};

const SPEAKERS: Readonly<Record<WrittenEntry['kind'], string>> = {
  userMessage: 'User',
  agentMessage: 'Agent',
  thinking: 'Agent',
  toolCall: 'Agent',
  note: 'System',
};

export function createMarkdown() {
  let speaker = '';
  return {
    head: headText,
    /** The text of an entry, below a heading when somebody else spoke before. */
    entry(entry: WrittenEntry): string {
      const text = entry.kind === 'toolCall' ? callText(entry) : saidText(entry);
      if (text === '') return '';
      const by = `${SPEAKERS[entry.kind]}${entry.subagentId === null ? '' : ' (subagent)'}`;
      const heading = by === speaker ? '' : `## ${by}\n\n`;
      speaker = by;
      return `${heading}${text}\n\n`;
    },
  };
}

function headText({ title, agent, state, createdAt, usage }: MarkdownHead): string {
  const facts = [
    agent === null ? undefined : `Agent: ${inline(agent)}`,
    `State: ${state}`,
    `Created: ${createdAt}`,
    ...Object.entries(usage).map(([name, total]) => (total === null ? undefined : `${name}: ${total}`)),
  ];
  return `# ${inline(title)}\n\n${facts.flatMap((fact) => (fact === undefined ? [] : [`- ${fact}`])).join('\n')}\n\n`;
}

function saidText({ kind, content }: WrittenEntry): string {
  const text = contained(content.text);
  return kind === 'thinking' && text !== '' ? `<details><summary>Thinking</summary>\n\n${text}\n\n</details>` : text;
}

function callText({ toolName, isFailed, isOpen, outputId, content: { text, output } }: WrittenEntry): string {
  const call = `**${inline(toolName ?? 'Tool')}**${text === '' ? '' : `\n\n${fenced(text)}`}`;
  if (outputId === null || (isOpen && output === '')) return call;
  const result = isOpen ? 'So far' : `Result${isFailed ? ', an error' : ''}`;
  return output === '' ? `${call}\n\n${result}.` : `${call}\n\n${result}:\n\n${fenced(output)}`;
}
