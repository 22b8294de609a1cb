import { z } from 'zod';
import { WORK } from '../../core/work-budget.ts';
import { isObject } from '../../core/is-object.ts';
import { NOT_EXACT, NOT_STORABLE, isLongerThan, isStorable, text, rule } from '../../core/input/validation.ts';
import { isExactNumber } from '../../core/text/exact-json.ts';

/**
 * Rich-text documents of editors like ProseMirror (workspace management API, section 2.3). Types of nodes: `text`, `image`, `mention`,
 * `heading`, `orderedList`, `taskItem`, `codeBlock`, and any other block. Unknown fields of a node are refused. Unknown
 * properties of `attrs` are kept, because editors store settings there, such as `textAlign`.
 */

/** Maximum number of levels of nodes below the document. */
export const MAX_DEPTH = 50;
/** Maximum number of children of a node or of the document. */
export const MAX_CHILDREN = 10_000;
/** Maximum number of marks of a node. */
export const MAX_MARKS = 1000;
/** Maximum number of nodes and marks of a document together. It bounds the time for validation. */
export const MAX_NODES = 50_000;
/** Maximum length of a text node, and of any text in `attrs`. */
export const MAX_TEXT_LENGTH = 1_000_000;
/** Maximum number of nested objects and arrays in `attrs`, which is the first level. */
export const MAX_ATTRIBUTE_DEPTH = 10;

const MAX_ADDRESS_LENGTH = 8192;
const ADDRESS_RULE =
  `must be an http, https or mailto address or a relative one, of 1 to ${MAX_ADDRESS_LENGTH} characters, ` +
  'without whitespace, control characters or backslashes';

/**
 * A mailto address (RFC 6068, section 2): recipients, header fields, or both, with an optional fragment. As in an http address,
 * characters beyond ASCII need not be percent-encoded, and `/` and `?` are allowed in the query (RFC 3986, section 3.4).
 */
const MAILTO = mailtoPattern();

/** Names of attributes of any node or mark that contain an address; compared without case. */
const ADDRESS_ATTRIBUTES: ReadonlySet<string> = new Set(
  'action background cite data formaction href longdesc ping poster src url xlink:href'.split(' '),
);

/** Names of attributes that contain a script, a document or several addresses: another client could put them into its page. */
const ACTIVE_ATTRIBUTE = /^(?:on[a-z]+|srcdoc|srcset|style)$/i;

/** Types of nodes that contain no other nodes. */
const LEAVES: ReadonlySet<string> = new Set(['text', 'image', 'mention']);

const notEmpty = z.string().min(1, 'must not be empty').max(1000);
const caption = z.string().max(10_000).nullish();

/** The rules for all `attrs`. They are checked before `z.record`, which would silently drop `__proto__`. */
const attributes = z.preprocess(
  (value, context) => {
    const fault = isObject(value) ? attributeFault(value, '', MAX_ATTRIBUTE_DEPTH) : undefined;
    if (fault) context.addIssue({ code: 'custom', ...fault });
    return value;
  },
  z.record(z.string(), z.unknown()),
);

/** The known attributes of each type of node. `attributes` checks that `src` and `href` are safe. */
const ATTRIBUTES_OF: ReadonlyMap<string, z.core.$ZodType> = new Map<string, z.core.$ZodType>([
  ['image', z.looseObject({ src: z.string(), alt: caption, title: caption })],
  ['mention', z.looseObject({ id: notEmpty, label: notEmpty.nullish() })],
  ['heading', z.looseObject({ level: z.int().min(1).max(6) })],
  ['orderedList', z.looseObject({ start: z.int32().nullish() })],
  ['taskItem', z.looseObject({ checked: z.boolean().nullish() })],
  ['codeBlock', z.looseObject({ language: z.string().max(100).nullish() })],
]);
const LINK_ATTRIBUTES = z.looseObject({ href: z.string() });

/** Rules over several fields run even when single fields are invalid, so that all faults of a document are reported together. */
const whenObject = { when: ({ value }: { value: unknown }) => isObject(value) };

const mark = z
  .strictObject({
    type: text({ min: 1, max: 100 }).describe('Name of the format.'),
    attrs: attributes.optional().describe('Attributes of the format.'),
  })
  .superRefine(({ type, attrs }, context) => {
    if (type === 'link') checkKindAttributes(LINK_ATTRIBUTES, attrs, context);
  }, whenObject)
  .meta({ id: 'RichTextMark', description: 'A format of a node: `link` with `attrs.href`, or any other name.' });

/** A `link` with its `href`, or a named format. */
export type RichTextMark = z.output<typeof mark>;

/** A node below the document. */
export interface RichTextNode {
  type: string;
  content?: RichTextNode[];
  text?: string;
  marks?: RichTextMark[];
  attrs?: Record<string, unknown>;
}

const node: z.core.$ZodType<RichTextNode> = z
  .strictObject({
    type: text({ min: 1, max: 100 }).describe('Type of the node.'),
    get content() {
      return z.array(node).max(MAX_CHILDREN).optional().describe('Children of the node.');
    },
    text: text({ max: MAX_TEXT_LENGTH }).optional().describe('Text of a `text` node.'),
    marks: z.array(mark).max(MAX_MARKS).optional().describe('Formats of the node.'),
    attrs: attributes.optional().describe('Attributes of the node.'),
  })
  .superRefine(checkKind, whenObject)
  .meta({
    id: 'RichTextNode',
    description:
      'The `type` decides which fields a node has. `text` requires `text`; `image` requires `attrs.src` and allows `alt` and `title`; ' +
      '`mention` requires `attrs.id` and allows `label`; `heading` requires `attrs.level`, 1 to 6; `orderedList` allows `attrs.start`, ' +
      '`taskItem` `attrs.checked`, and `codeBlock` `attrs.language`. Any other type is a block.',
  });

/**
 * A rich-text document with at most 50 levels of nodes, 10,000 children and 1000 marks of each node, 1,000,000 characters of each text, and
 * 50,000 nodes and marks together. Addresses of links and images are http(s), mailto or relative. Every fault is reported with its path.
 */
export const richTextDocument = z.preprocess(
  // Runs before the recursive schema, so that a document of any depth is refused without a stack overflow.
  (value, context) => {
    const path = pathBeyond(value, MAX_DEPTH);
    if (path)
      context.addIssue({
        code: 'custom',
        path,
        ...rule('TOO_MANY', `must not be nested deeper than ${MAX_DEPTH} nodes below the document`, MAX_DEPTH),
      });
    else if (nodesOf(value) > MAX_NODES)
      context.addIssue({
        code: 'custom',
        ...rule('TOO_MANY', `must have at most ${MAX_NODES} nodes and marks`, MAX_NODES),
      });
    return value;
  },
  z.strictObject({
    type: z.literal('doc').describe('Always `doc`.'),
    content: z.array(node).max(MAX_CHILDREN).describe('Nodes of the document.'),
  }),
);

export type RichTextDocument = z.output<typeof richTextDocument>;

/**
 * The plain text of a document, with one line for every block that contains text. A mention becomes `@` and its label
 * or id, an image its `alt`, and a `hardBreak` a new line. The result is trimmed.
 */
export function toPlainText(document: RichTextDocument): string {
  const lines: string[] = [];
  for (const block of document.content) collectLines(block, lines);
  return lines.join('\n').trim();
}

/** A block that directly contains text, mentions or line breaks becomes one line. All other blocks contain blocks. */
function collectLines(block: RichTextNode, lines: string[]): void {
  const children = block.content ?? [];
  if (children.length === 0) {
    lines.push(ownText(block));
  } else if (!children.some(({ type }) => type === 'text' || type === 'mention' || type === 'hardBreak')) {
    for (const child of children) collectLines(child, lines);
  } else {
    collectLine(children, lines);
  }
}

/** A block with content within text, such as a list in an item, ends the line. */
function collectLine(children: readonly RichTextNode[], lines: string[]): void {
  let line: string | undefined;
  for (const child of children) {
    if (!child.content?.length) {
      line = (line ?? '') + ownText(child);
      continue;
    }
    if (line !== undefined) lines.push(line);
    line = undefined;
    collectLines(child, lines);
  }
  if (line !== undefined) lines.push(line);
}

function ownText({ type, text: own = '', attrs = {} }: RichTextNode): string {
  if (type === 'text') return own;
  if (type === 'mention') return `@${textOf(attrs['label']) || textOf(attrs['id'])}`;
  if (type === 'image') return textOf(attrs['alt']);
  return type === 'hardBreak' ? '\n' : '';
}

const textOf = (attribute: unknown): string => (typeof attribute === 'string' ? attribute : '');

/** The path to the first node that is more than `levels` deep. The recursion is never deeper than `levels`. */
function pathBeyond(parent: unknown, levels: number): (string | number)[] | undefined {
  if (!isObject(parent) || !Array.isArray(parent['content'])) return undefined;
  for (const [index, child] of parent['content'].entries()) {
    const path = levels === 0 ? [] : pathBeyond(child, levels - 1);
    if (path) return ['content', index, ...path];
  }
  return undefined;
}

/** Counts nodes and marks. The depth has been checked before. */
function nodesOf(parent: unknown): number {
  if (!isObject(parent)) return 1;
  const marks = Array.isArray(parent['marks']) ? parent['marks'].length : 0;
  const children: unknown[] = Array.isArray(parent['content']) ? parent['content'] : [];
  return children.reduce<number>((sum, child) => sum + nodesOf(child), 1 + marks);
}

function checkKind(value: RichTextNode, context: z.RefinementCtx): void {
  const refuse = (field: string, ...broken: Parameters<typeof rule>) =>
    context.addIssue({ code: 'custom', path: [field], ...rule(...broken) });
  if (value.type === 'text') {
    if (value.text === undefined) refuse('text', 'REQUIRED', 'is required for the type text');
    if (value.attrs !== undefined) refuse('attrs', 'CONFLICTING', 'must not be given for the type text');
  } else if (value.text !== undefined) {
    refuse('text', 'CONFLICTING', 'is only for the type text');
  }
  if (LEAVES.has(value.type) && value.content !== undefined)
    refuse('content', 'CONFLICTING', `must not be given for the type ${value.type}`);
  const schema = ATTRIBUTES_OF.get(value.type);
  if (schema) checkKindAttributes(schema, value.attrs, context);
}

/** Missing `attrs` are checked as an empty object, so that the message names the missing property. */
function checkKindAttributes(schema: z.core.$ZodType, attrs: unknown, context: z.RefinementCtx): void {
  if (attrs !== undefined && !isObject(attrs)) return;
  for (const issue of z.safeParse(schema, attrs ?? {}).error?.issues ?? []) {
    context.addIssue({ ...issue, path: ['attrs', ...issue.path] });
  }
}

interface AttributeFault extends ReturnType<typeof rule> {
  readonly path: string[];
}

/**
 * The first fault of an attribute: not JSON, too deep, text that cannot be stored, or an unsafe address. Items of a
 * list have the list's `name`.
 */
function attributeFault(value: unknown, name: string, levels: number): AttributeFault | undefined {
  const fault = (...broken: Parameters<typeof rule>) => ({ path: [], ...rule(...broken) });
  if (typeof value === 'string') return textFault(value, name);
  // `JSON.parse` reads 1e999 as Infinity, and `JSON.stringify` writes Infinity as null.
  if (typeof value === 'number' && !Number.isFinite(value)) return fault('NOT_ALLOWED', 'must be a finite number');
  if (isExactNumber(value)) return fault('NOT_ALLOWED', NOT_EXACT);
  if (typeof value !== 'object' || value === null) return undefined;
  if (levels === 0)
    return fault('TOO_MANY', `must not be nested deeper than ${MAX_ATTRIBUTE_DEPTH} levels`, MAX_ATTRIBUTE_DEPTH);
  const entries = Object.entries(value);
  const [max, items] = Array.isArray(value) ? [WORK.items, 'items'] : [WORK.properties, 'properties'];
  if (entries.length > max) return fault('TOO_MANY', `must have at most ${max} ${items}`, max);
  for (const [key, item] of entries) {
    if (key === '__proto__' || isLongerThan(key, 100) || !isStorable(key)) {
      return fault(
        'NOT_ALLOWED',
        'must have property names of at most 100 characters, of well-formed text without NUL characters, and not __proto__',
      );
    }
    if (!Array.isArray(value) && ACTIVE_ATTRIBUTE.test(key))
      return { ...fault('NOT_ALLOWED', 'is not allowed: it can contain a script'), path: [key] };
    const inner = attributeFault(item, Array.isArray(value) ? name : key, levels - 1);
    if (inner) return { ...inner, path: [key, ...inner.path] };
  }
  return undefined;
}

function textFault(value: string, name: string): AttributeFault | undefined {
  const fault = (...broken: Parameters<typeof rule>) => ({ path: [], ...rule(...broken) });
  if (ADDRESS_ATTRIBUTES.has(name.toLowerCase()))
    return isSafeAddress(value) ? undefined : fault('BAD_FORMAT', ADDRESS_RULE);
  if (isLongerThan(value, MAX_TEXT_LENGTH))
    return fault('TOO_LONG', `must be at most ${MAX_TEXT_LENGTH} characters`, MAX_TEXT_LENGTH);
  return isStorable(value) ? undefined : fault('BAD_FORMAT', NOT_STORABLE);
}

/**
 * Whether a link to the address is safe: it runs no script and leads to no hidden host. The address is parsed by the
 * URL Standard relative to a base. Characters that browsers remove or replace (whitespace, control and format
 * characters, backslashes) are refused before. `//host` is refused, because it leads to another host without showing a
 * scheme.
 */
function isSafeAddress(value: string): boolean {
  if (value.length === 0 || value.length > MAX_ADDRESS_LENGTH || /[\s\\\p{Cc}\p{Cf}\p{Cs}]/u.test(value)) return false;
  const scheme = /^([^/?#]*):/.exec(value)?.[1]?.toLowerCase();
  if (scheme === undefined) return !value.startsWith('//') && URL.canParse(value, 'https://page.invalid');
  if (scheme === 'mailto') return MAILTO.test(value);
  return /^https?:\/\/[^/?#]/i.test(value) && URL.canParse(value);
}

function mailtoPattern(): RegExp {
  const encoded = String.raw`%[\da-f]{2}|[^\0-\x7f]`;
  const atom = String.raw`(?:[\w!$'*+~-]|${encoded})+`;
  const dotAtom = String.raw`${atom}(?:\.${atom})*`;
  const recipient = `${dotAtom}@${dotAtom}`;
  const recipients = `${recipient}(?:,${recipient})*`;
  const query = String.raw`(?:[\w.~!$'()*+,;:@/?-]|${encoded})`;
  const fields = String.raw`\?${query}+=${query}*(?:&${query}+=${query}*)*`;
  return new RegExp(`^mailto:(?:${recipients}(?:${fields})?|${fields})(?:#.*)?$`, 'i');
}
