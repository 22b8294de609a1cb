import { z } from 'zod';
import { NOT_STORABLE, isLongerThan, isStorable, text, rule } from '../../core/validation.ts';

/**
 * Rich text: the documents of ProseMirror-like editors (workspace management API, section 2.3, and the decisions on section 4). Kinds of
 * node: `text`, `image`, `mention`, `heading`, `orderedList`, `taskItem`, `codeBlock`, and any other block. The fields of a node itself are
 * closed; those of its kind are in `attrs`, which stay open, because editors keep their settings there (`textAlign`, `target`).
 */

/** Levels of nodes below the document. */
export const MAX_DEPTH = 50;
/** Children of one node, and of the document. */
export const MAX_CHILDREN = 10_000;
/** Marks on one node. */
export const MAX_MARKS = 1000;
/** Nodes and marks of a document together: bounds the time that checking takes. */
export const MAX_NODES = 50_000;
/** Characters of one text, and of any text within `attrs`. */
export const MAX_TEXT_LENGTH = 1_000_000;
/** Levels of objects and arrays within `attrs`, which is the first. */
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

/** Attributes that name an address, on whatever node or mark they stand; compared without case. */
const ADDRESS_ATTRIBUTES: ReadonlySet<string> = new Set(['href', 'src', 'url', 'xlink:href']);

/** Kinds of node that contain no other nodes. */
const LEAVES: ReadonlySet<string> = new Set(['text', 'image', 'mention']);

const notEmpty = z.string().min(1, 'must not be empty').max(1000);
const caption = z.string().max(10_000).nullish();

/** Every `attrs`, beside the rules of its kind. Checked before `z.record` has a chance to drop a `__proto__` silently. */
const attributes = z.preprocess(
  (value, context) => {
    const fault = isObject(value) ? attributeFault(value, '', MAX_ATTRIBUTE_DEPTH) : undefined;
    if (fault) context.addIssue({ code: 'custom', ...fault });
    return value;
  },
  z.record(z.string(), z.unknown()),
);

/** The attributes that a kind of node gives a meaning to. `attributes` checks that `src` and `href` are safe. */
const ATTRIBUTES_OF: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ['image', z.looseObject({ src: z.string(), alt: caption, title: caption })],
  ['mention', z.looseObject({ id: notEmpty, label: notEmpty.nullish() })],
  ['heading', z.looseObject({ level: z.int().min(1).max(6) })],
  ['orderedList', z.looseObject({ start: z.int32().nullish() })],
  ['taskItem', z.looseObject({ checked: z.boolean().nullish() })],
  ['codeBlock', z.looseObject({ language: z.string().max(100).nullish() })],
]);
const LINK_ATTRIBUTES = z.looseObject({ href: z.string() });

/** Rules between fields are checked also where a field is at fault, so that all faults of a document are reported together. */
const whenObject = { when: ({ value }: { value: unknown }) => isObject(value) };

const mark = z
  .strictObject({ type: text({ min: 1, max: 100 }), attrs: attributes.optional() })
  .superRefine(({ type, attrs }, context) => {
    if (type === 'link') checkKindAttributes(LINK_ATTRIBUTES, attrs, context);
  }, whenObject)
  .meta({ id: 'RichTextMark', description: 'A format of its node: `link` with `attrs.href`, or any other name.' });

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

const node: z.ZodType<RichTextNode> = z
  .strictObject({
    type: text({ min: 1, max: 100 }),
    get content() {
      return z.array(node).max(MAX_CHILDREN).optional();
    },
    text: text({ max: MAX_TEXT_LENGTH }).optional(),
    marks: z.array(mark).max(MAX_MARKS).optional(),
    attrs: attributes.optional(),
  })
  .superRefine(checkKind, whenObject)
  .meta({
    id: 'RichTextNode',
    description:
      'Decided by `type`: `text` has `text`; `image` has `attrs.src` (and `alt`, `title`); `mention` has `attrs.id` (and `label`); ' +
      '`heading` has `attrs.level`, 1 to 6; `orderedList` may have `attrs.start`, `taskItem` `attrs.checked`, `codeBlock` `attrs.language`; ' +
      'any other type is a block.',
  });

/**
 * A rich-text document: at most 50 levels of nodes, 10,000 children and 1000 marks a node, 1,000,000 characters a text, and 50,000
 * nodes and marks in all. Addresses of links and images are http(s), mailto or relative. Every fault is reported with its path.
 */
export const richTextDocument = z.preprocess(
  // Before the schema, which recurses: a document of any depth is refused without overflowing the stack.
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
  z.strictObject({ type: z.literal('doc'), content: z.array(node).max(MAX_CHILDREN) }),
);

export type RichTextDocument = z.output<typeof richTextDocument>;

/**
 * The text of a document: one line for every block that contains text, in order. A mention is its label, or its id, after `@`; an image its
 * `alt`; a `hardBreak` a new line. Without whitespace at both ends; empty when there is no text.
 */
export function toPlainText(document: RichTextDocument): string {
  const lines: string[] = [];
  for (const block of document.content) collectLines(block, lines);
  return lines.join('\n').trim();
}

/** A block that directly contains text, mentions or breaks is a line of text, together with the images in it; any other contains blocks. */
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

/** Blocks with content that stand among text, such as a list within an item, break the line. */
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

function textOf(attribute: unknown): string {
  return typeof attribute === 'string' ? attribute : '';
}

/** Path to the first node that lies deeper than the levels that are left; itself never recurses further than those. */
function pathBeyond(parent: unknown, levels: number): (string | number)[] | undefined {
  if (!isObject(parent) || !Array.isArray(parent['content'])) return undefined;
  for (const [index, child] of parent['content'].entries()) {
    const path = levels === 0 ? [] : pathBeyond(child, levels - 1);
    if (path) return ['content', index, ...path];
  }
  return undefined;
}

/** Of a document that is no deeper than it may be. */
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

/** An absent `attrs` is read as an empty one, so that the message names what is missing in it. */
function checkKindAttributes(schema: z.ZodType, attrs: unknown, context: z.RefinementCtx): void {
  if (attrs !== undefined && !isObject(attrs)) return;
  for (const issue of schema.safeParse(attrs ?? {}).error?.issues ?? []) {
    context.addIssue({ ...issue, path: ['attrs', ...issue.path] });
  }
}

interface AttributeFault extends ReturnType<typeof rule> {
  readonly path: string[];
}

/** The first thing that keeps a value from being JSON of bounded depth that can be stored, with safe addresses. `name` is also that of a list's items. */
function attributeFault(value: unknown, name: string, levels: number): AttributeFault | undefined {
  const fault = (...broken: Parameters<typeof rule>) => ({ path: [], ...rule(...broken) });
  if (typeof value === 'string') return textFault(value, name);
  // JSON reads 1e999 as Infinity, and would write it as null.
  if (typeof value === 'number' && !Number.isFinite(value)) return fault('NOT_ALLOWED', 'must be a finite number');
  if (typeof value !== 'object' || value === null) return undefined;
  if (levels === 0)
    return fault('TOO_MANY', `must not be nested deeper than ${MAX_ATTRIBUTE_DEPTH} levels`, MAX_ATTRIBUTE_DEPTH);
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__' || isLongerThan(key, 100) || !isStorable(key)) {
      return fault(
        'NOT_ALLOWED',
        'must name its properties in at most 100 characters of well-formed text without NUL, none of them __proto__',
      );
    }
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
 * Whether a reader can follow the address without running a script or leaving for a host that it does not show. Read by the URL Standard
 * itself, against a base in place of the page; what browsers strip or bend (whitespace, controls, format characters, backslashes) is
 * refused before. `//host` is refused: it names another host without a scheme.
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
