import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_PROPERTIES } from '../../domains/event-definitions/public.ts';
import type { Plan, PlannedEvent, PlannedProperty } from './plan.ts';

/** Prints a TypeScript module that sends the events of a plan. It needs no package. */
export function printTypes(plan: Plan): string {
  const events = [...plan.values()];
  const usesDefaults = events.some(({ includeDefaultProperties }) => includeDefaultProperties);
  return [
    HEADER,
    ...(usesDefaults ? [defaultProperties()] : []),
    `/** The properties of each event. */\nexport interface EventProperties {\n${events.map(propertiesOf).join('')}}`,
    `/** One function for each event of the plan. */\nexport interface Events {\n${events.map(functionOf).join('')}}`,
    // Its type is written out for `isolatedDeclarations`.
    `/** An occurrence is sent within \`delayMs\`; call \`flush\` before the program ends. */
export function createEvents(options: SenderOptions): { readonly events: Events; readonly flush: Sender['flush'] } {
  const sender = createSender(options);
  const events: Events = {
${events.map(({ name }) => `    ${name}: (...given) => sender.send('${name}', ...given),\n`).join('')}  };
  return { events, flush: sender.flush };
}`,
    // Its first comment is for this repository.
    readFileSync(join(import.meta.dirname, 'sender.ts'), 'utf8').replace(/^\/\/.*\n\n/, ''),
  ].join('\n\n');
}

const HEADER = '// Printed by `plan types` from a tracking plan. Do not edit: change the plan and print it again.';

function defaultProperties(): string {
  const fields = DEFAULT_PROPERTIES.map((property) => field({ ...property, description: '' }, '  '));
  return `/** Properties of every event that includes the default properties. */\nexport interface DefaultProperties {\n${fields.join('')}}`;
}

function propertiesOf({ name, includeDefaultProperties, properties }: PlannedEvent): string {
  const fields = [...properties.values()].map((property) => field(property, '    '));
  const own = fields.length > 0 ? `{\n${fields.join('')}  }` : 'object';
  if (!includeDefaultProperties) return `  readonly ${name}: ${fields.length > 0 ? own : 'Record<string, never>'};\n`;
  return `  readonly ${name}: ${fields.length > 0 ? `DefaultProperties & ${own}` : 'DefaultProperties'};\n`;
}

const field = (
  {
    name,
    label,
    type,
    description,
    options,
  }: Omit<PlannedProperty, 'options'> & { readonly options: readonly { readonly value: string }[] },
  indent: string,
): string =>
  `${comment([label, description, FORMATS[type] ?? ''], indent)}${indent}readonly ${name}?: ${typeOf(type, options)} | undefined;\n`;

const FORMATS: Partial<Record<PlannedProperty['type'], string>> = {
  date: 'A day: YYYY-MM-DD.',
  datetime: 'A time: ISO 8601, or a Date.',
  number: 'At most 15 digits, at most one of them a decimal.',
};

function typeOf(type: PlannedProperty['type'], options: readonly { readonly value: string }[]): string {
  if (type === 'enumeration') return options.map(({ value }) => JSON.stringify(value)).join(' | ');
  return { bool: 'boolean', date: 'string', datetime: 'Date | string', number: 'number', string: 'string' }[type];
}

function functionOf({ name, label, description, primaryObject, customMatchingId }: PlannedEvent): string {
  const about = aboutOf(primaryObject, customMatchingId !== undefined);
  return `${comment([label, description], '  ')}  readonly ${name}: (properties: EventProperties['${name}'], ${about}) => void;\n`;
}

/** What identifies the record of an occurrence. */
function aboutOf(primaryObject: string, isMatched: boolean): string {
  if (primaryObject === 'NO_OBJECT') return 'about?: Moment';
  if (primaryObject === 'CONTACT') return isMatched ? 'about?: MatchedContact' : 'about: Contact';
  return isMatched ? 'about?: MatchedRecord' : 'about: OtherRecord';
}

/** Texts of the plan cannot end the comment. */
function comment(texts: readonly string[], indent: string): string {
  const lines = texts
    .filter((text) => text !== '')
    .flatMap((text) => text.replaceAll('*/', '* /').split(/\r\n|[\n\r\u2028\u2029]/));
  return lines.length === 1
    ? `${indent}/** ${lines[0]} */\n`
    : `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}
