import type { SessionUsage } from '../sessions/public.ts';
import { contained, fenced, inline } from './contained-text.ts';
import type { EventData } from './event-data.ts';
import { agentOf, deltaOf, isFailure, kindOf, plainLine } from './event-kind.ts';
import { objectOf } from './formats/format.ts';

/**
 * Writes a session as a person reads it. Parts of a message are joined; only what is still open is kept in memory. What is not quoted and not
 * in a block of code is written by the gateway.
 */

export interface MarkdownHead {
  readonly title: string;
  readonly agent: string | null;
  readonly state: string;
  readonly createdAt: string;
  readonly usage: SessionUsage;
}

type Data = Pick<
  EventData,
  | 'type'
  | 'scope'
  | 'providerEvent'
  | 'source'
  | 'event'
  | 'itemId'
  | 'index'
  | 'accumulatedText'
  | 'deltaType'
  | 'responsePhase'
  | 'toolName'
  | 'toolResult'
> & { readonly line?: unknown };

/** A message or a tool call that may still grow. */
interface OpenItem {
  readonly key: string;
  readonly speaker: string;
  readonly kind: 'message' | 'thinking' | 'call';
  readonly name: string;
  readonly text: string;
}

/** Agents that write at the same time. The item of the one that was quiet longest is written when there are more. */
const MAX_OPEN = 100;

/** The key of a line that is in several events. */
const LINE = 'line';

const SPEAKERS: ReadonlyMap<string, string> = new Map([
  ['user', 'User'],
  ['system', 'System'],
  ['tool', 'Tool'],
]);

export function createMarkdown() {
  const open = new Map<string, OpenItem>();
  let speaker = '';

  /** A part of the text, below a heading when somebody else spoke before. */
  function part(by: string, text: string): string {
    if (text === '') return '';
    const heading = by === speaker ? '' : `## ${by}\n\n`;
    speaker = by;
    return `${heading}${text}\n\n`;
  }

  function close(item: OpenItem): string {
    if (item.kind === 'call')
      return part(item.speaker, `**${inline(item.name)}**${item.text === '' ? '' : `\n\n${fenced(item.text)}`}`);
    const text = contained(item.text);
    if (item.kind === 'message' || text === '') return part(item.speaker, text);
    return part(item.speaker, `<details><summary>Thinking</summary>\n\n${text}\n\n</details>`);
  }

  /** Ends the open item of an agent, unless it is the one that goes on. */
  function closeOther(agent: string, key?: string): string {
    const item = open.get(agent);
    if (!item || item.key === key) return '';
    open.delete(agent);
    return close(item);
  }

  /** Adds a further part of a long line that is no JSON. */
  function goesOnWithLine(agent: string, { event }: Data): boolean {
    const line = open.get(agent);
    if (line?.key !== LINE || event?.event !== 'line_part') return false;
    open.set(agent, { ...line, text: line.text + event.message });
    return true;
  }

  return {
    head: headText,
    event(data: Data): string {
      const agent = agentOf(data) ?? '';
      const eventKind = kindOf(data);
      const { kind = 'foreground' } = data.scope ?? {};
      const by = `${SPEAKERS.get(data.source ?? '') ?? 'Agent'}${kind === 'foreground' ? '' : ` (${inline(kind)})`}`;
      if (eventKind === 'result') return closeOther(agent) + part(by, resultText(data));
      const text = data.accumulatedText ?? plainLine(data) ?? '';
      if (goesOnWithLine(agent, data)) return '';
      const key = keyOf(data, eventKind === 'call', text);
      if (key === undefined) return text === '' ? '' : closeOther(agent) + part(by, contained(text));
      const ended = closeOther(agent, key);
      const before = open.get(agent);
      open.delete(agent);
      open.set(agent, {
        key,
        // The progress of a tool belongs to its call.
        speaker: before?.speaker ?? by,
        kind: eventKind === 'call' || eventKind === 'thinking' ? eventKind : 'message',
        name: data.toolName ?? before?.name ?? 'Tool',
        text: text === '' ? withPart(before?.text ?? '', deltaOf(data)) : text,
      });
      const [oldest = agent] = open.keys();
      return ended + (open.size > MAX_OPEN ? closeOther(oldest) : '');
    },
    end(): string {
      const rest = [...open.values()];
      open.clear();
      return rest.map(close).join('');
    },
  };
}

/** By what the rest of a text is known; undefined of a text that is whole. */
function keyOf({ accumulatedText, line, deltaType, itemId, index }: Data, isCall: boolean, text: string) {
  if (accumulatedText == null && text !== '' && Number(objectOf(line)['parts']) > 1) return LINE;
  if (!isCall && deltaType !== 'text_delta') return undefined;
  return `${isCall ? 'call' : 'text'}:${itemId ?? JSON.stringify(index ?? '')}`;
}

/** Whole texts of lines are cut as well. */
const withPart = (text: string, part: string) => (text.length > MAX_JOINED ? text : text + part);
const MAX_JOINED = 120_000;

function headText({ title, agent, state, createdAt, usage }: MarkdownHead): string {
  const facts = [
    agent === null ? undefined : `Agent: ${inline(agent)}`,
    `State: ${state}`,
    `Created: ${createdAt}`,
    ...Object.entries(usage).map(([name, total]) => (total === null ? undefined : `${name}: ${total}`)),
  ];
  return `# ${inline(title)}\n\n${facts.flatMap((fact) => (fact === undefined ? [] : [`- ${fact}`])).join('\n')}\n\n`;
}

function resultText(data: Data): string {
  const { toolName, toolResult } = data;
  const { output, error } = toolResult ?? {};
  const failure = isFailure(data) ? `, an error${error ? `: ${inline(error)}` : ''}` : '';
  const heading = `Result${toolName == null ? '' : ` of ${inline(toolName)}`}${failure}`;
  return output ? `${heading}:\n\n${fenced(output)}` : `${heading}.`;
}
