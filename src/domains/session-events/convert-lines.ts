import { ValidationError, invalid } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import { parseInput } from '../../core/input/validation.ts';
import { requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { WORK } from '../../core/work-budget.ts';
import type { SessionTables } from '../sessions/public.ts';
import { type RecordedEvent, recordedEvent } from './event-data.ts';
import { type Repaired, repairTexts } from './repaired-texts.ts';
import type { Memory } from './formats/format.ts';
import { type ConvertedEvent, type FormatName, convertLine } from './formats/line-converter.ts';

/** Converts the lines of a request to validated events. */

const db = queriesOn<SessionTables>();

/** The lines of a body. Blank lines are left out. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.replace(/\r$/, '')]));
  if (lines.length === 0) throw invalid('', 'the body must have at least one line', 'TOO_FEW', 1);
  if (lines.length > WORK.lines)
    throw invalid(
      '',
      `the body must have at most ${WORK.lines} lines; send the others in another request`,
      'TOO_MANY',
      WORK.lines,
    );
  return lines;
}

/** What the format remembers of the lines that were appended before. */
export async function readMemory({ sql, actor }: OperationContext, sessionId: SessionId): Promise<Memory> {
  const row = await sql.primary.first(
    db
      .selectFrom('session_stream')
      .select('format_memory as formatMemory')
      .where('session_id', '=', sessionId)
      .where('organization_id', '=', requireOrganization(actor).id),
  );
  const memory: unknown = JSON.parse(row?.formatMemory ?? '{}');
  return isObject(memory) ? memory : {};
}

export interface ConvertedLines {
  readonly events: RecordedEvent[];
  readonly repairedTexts: number;
  /** The number of the line of an event. */
  readonly lineOf: (index: number) => number;
  /** The new memory as JSON; undefined when it has not changed. */
  readonly memory: string | undefined;
}

/** Converts lines in their order. What a format makes of a line never refuses it. */
export function convertLines(format: FormatName, lines: readonly string[], before: Memory): ConvertedLines {
  const numbers: number[] = [];
  let [memory, repairedTexts] = [before, 0];
  const events = lines.flatMap((line, number) => {
    const converted = convertLine(format, line, memory);
    memory = converted.memory;
    return converted.events.map((event) => {
      const { value, repairedTexts: count } = validated(event, line);
      numbers.push(number);
      repairedTexts += count;
      return value;
    });
  });
  return {
    events,
    repairedTexts,
    lineOf: (index) => numbers[index] ?? 0,
    memory: memory === before ? undefined : JSON.stringify(memory),
  };
}

/** The event, or, when a format has made one that is not valid, an event with the line only. */
export function validated(event: ConvertedEvent, line: string): Repaired<RecordedEvent> {
  const { value, repairedTexts } = repairTexts(event);
  try {
    return { value: parseInput(recordedEvent, value), repairedTexts };
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const { provider } = event;
    const { value: message } = repairTexts(line.slice(0, MAX_KEPT));
    const eventData = { type: 'line', providerEvent: true, event: { event: 'line', message, provider } };
    return { value: parseInput(recordedEvent, { eventType: 'line', provider, eventData }), repairedTexts };
  }
}

const MAX_KEPT = 100_000;
