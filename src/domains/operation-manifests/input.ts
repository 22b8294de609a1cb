import { z } from 'zod';
import { listInput } from '../../core/input/lists.ts';
import { isObject } from '../../core/is-object.ts';
import { isStorable, NOT_STORABLE, rule, text } from '../../core/input/validation.ts';
import { WORK } from '../../core/work-budget.ts';

export interface NamedDocument {
  readonly id: string;
  readonly document: string;
}

const MAX_ID = 255;
const APOLLO = 'apollo-persisted-query-manifest';

const ID_SCHEMA = { type: 'string', minLength: 1, maxLength: MAX_ID, description: 'Id of the document.' };
const DOCUMENT_SCHEMA = {
  type: 'string',
  minLength: 1,
  maxLength: WORK.documentBytes,
  description: 'Text of the document.',
};

/** The documents with their ids, from the file of Relay's compiler (texts by id), Apollo's manifest, or the list in it. */
const operations = z
  .unknown()
  .transform((given, context): readonly NamedDocument[] => {
    const fault = (path: readonly (string | number)[], ...of: Parameters<typeof rule>) => {
      context.addIssue({ code: 'custom', path: [...path], ...rule(...of) });
      return z.NEVER;
    };
    const found = entriesOf(given);
    if (typeof found === 'string') return fault([], given === undefined ? 'REQUIRED' : 'WRONG_TYPE', found);
    if (found.length === 0) return fault([], 'TOO_FEW', 'must have at least 1 operation', 1);
    if (found.length > WORK.manifestOperations)
      return fault([], 'TOO_MANY', `must have at most ${WORK.manifestOperations} operations`, WORK.manifestOperations);
    const documents = new Map<string, NamedDocument>();
    for (const { path, id, document } of found) {
      if (typeof id !== 'string' || id === '' || id.length > MAX_ID || !isStorable(id))
        fault(path, 'BAD_FORMAT', `must have an id of 1 to ${MAX_ID} characters`);
      else if (typeof document !== 'string') fault(path, 'WRONG_TYPE', 'must be the text of a GraphQL document');
      else if (document.trim() === '') fault(path, 'TOO_SHORT', 'must not be empty', 1);
      else if (Buffer.byteLength(document) > WORK.documentBytes)
        fault(path, 'TOO_LONG', `must have at most ${WORK.documentBytes} bytes`, WORK.documentBytes);
      else if (!isStorable(document)) fault(path, 'BAD_FORMAT', NOT_STORABLE);
      else if ((documents.get(id)?.document ?? document) !== document)
        fault(path, 'DUPLICATE', `has the id ${id} of another document`);
      else documents.set(id, { id, document });
    }
    return [...documents.values()];
  })
  .meta({
    anyOf: [
      {
        type: 'object',
        minProperties: 1,
        maxProperties: WORK.manifestOperations,
        propertyNames: ID_SCHEMA,
        additionalProperties: DOCUMENT_SCHEMA,
      },
      {
        type: 'array',
        minItems: 1,
        maxItems: WORK.manifestOperations,
        items: {
          type: 'object',
          properties: { id: ID_SCHEMA, body: DOCUMENT_SCHEMA },
          required: ['id', 'body'],
        },
      },
    ],
    description:
      "The documents: texts by id, as Relay's compiler writes them; or Apollo's manifest, or its list of objects with `id` and `body`. 1 to 2,000 documents, each with an id of 1 to 255 characters and at most 65,536 bytes.",
  });

interface Entry {
  readonly path: readonly (string | number)[];
  readonly id: unknown;
  readonly document: unknown;
}

/** The documents of each form, or what is wrong with it. */
function entriesOf(given: unknown): Entry[] | string {
  if (Array.isArray(given)) return listed(given, []);
  if (!isObject(given)) return "must be texts by id, or Apollo's manifest or list of operations";
  if (given['format'] !== APOLLO) return Object.entries(given).map(([id, document]) => ({ path: [id], id, document }));
  if (given['version'] !== 1 || !Array.isArray(given['operations']))
    return "must be version 1 of Apollo's manifest, with a list of operations";
  return listed(given['operations'], ['operations']);
}

/** Apollo names the text `body`. */
const listed = (items: readonly unknown[], path: readonly (string | number)[]): Entry[] =>
  items.map((item, index) => {
    const { id, body } = isObject(item) ? item : {};
    return { path: [...path, index], id, document: body };
  });

export const publishOperationManifestInput = z.strictObject({
  client: text({ min: 1, max: 100 }).describe('Name of the client, as it names itself in its requests.'),
  version: text({ min: 1, max: 100 }).describe('Version of the client.'),
  operations,
  dryRun: z.boolean().default(false).describe('Whether the documents are only checked: 200, and nothing is published.'),
});

export const retireOperationManifestInput = publishOperationManifestInput.pick({ client: true, version: true });

/** GraphQL has no list of manifests, so it has no filter. */
export const listOperationManifestsInput = z.strictObject(listInput);
