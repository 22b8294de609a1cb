import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { explore, seed } from '../support/exploration.ts';
import { full, proof } from '../support/proof.ts';
import { Reference, type Workspace, createWorkspace } from '../support/fixtures/workspace.ts';
import { type Schema } from './openapi/arbitraries.ts';
import {
  type Document,
  type GeneratedRequest,
  type Operation,
  bodySchemaOf,
  operationsOf,
  requestsOf,
} from './openapi/requests.ts';

/** Number of requests for each operation. */
const RUNS = full ? 600 : 100;

const document = JSON.parse(
  readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'),
) as unknown as Document;
/** They pass messages through: what they answer is what the remote server sent, or a JSON-RPC error, which the document does not describe. */
const PASS_THROUGH: ReadonlySet<string> = new Set([
  'sendMcpMessage',
  'openMcpStream',
  'endMcpSession',
  'sendOwnMcpMessage',
  'sendSessionMcpMessage',
]);
const operations = operationsOf(document).filter(({ operationId }) => !PASS_THROUGH.has(operationId));

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
const { components } = document;
const validators = new WeakMap<Schema, ValidateFunction>();

function validatorOf(schema: Schema): ValidateFunction {
  let validate = validators.get(schema);
  if (!validate) validators.set(schema, (validate = ajv.compile({ ...schema, components })));
  return validate;
}

const seen = new Map<string, Map<number, number>>(operations.map(({ operationId }) => [operationId, new Map()]));
let workspace: Workspace;

beforeAll(async () => {
  workspace = await createWorkspace();
});
afterAll(() => workspace.close());

interface Prepared {
  readonly path: string;
  readonly init: RequestInit;
  /** Whether the document allows the body; undefined if its schema alone does not decide that. */
  readonly isBodyValid: boolean | undefined;
}

/** Replaces the references of a request by ids of existing objects. */
function prepare(operation: Operation, { caller, parameters, query, headers, body }: GeneratedRequest): Prepared {
  const resolve = (value: unknown) => (value instanceof Reference ? workspace.resolve(value, caller) : value);
  const asText = (value: unknown) => {
    const resolved = resolve(value);
    return (typeof resolved === 'string' ? resolved : (JSON.stringify(resolved) ?? '')).toWellFormed();
  };
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(asText(parameters[name])));
  // The parameter is repeated for each item of an array (OpenAPI, style `form` with `explode`).
  const search = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((item) => `${name}=${encodeURIComponent(asText(item))}`),
  );
  const key = workspace.keyOf(caller);
  const json = body && 'json' in body ? JSON.stringify(body.json, (_, value: unknown) => resolve(value)) : body?.text;
  const schema = bodySchemaOf(operation);
  return {
    path: search.length > 0 ? `${path}?${search.join('&')}` : path,
    init: {
      method: operation.method,
      headers: {
        ...(key !== undefined && { Authorization: `Bearer ${key}` }),
        ...(json !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(json !== undefined && { body: json }),
    },
    isBodyValid:
      body && 'json' in body && json !== undefined && schema ? validatorOf(schema)(JSON.parse(json)) : undefined,
  };
}

/** Empty segments and dot segments, which a URL removes, would lead to other paths. */
function segment(text: string): string {
  return ['', '.', '..'].includes(text) ? '%20' : encodeURIComponent(text);
}

/** The differences of an answer from the document. */
function faultsOf(operation: Operation, { isBodyValid }: Prepared, response: Response, text: string): string[] {
  const { status } = response;
  const listed = operation.responses[String(status)];
  if (status >= 500 && status !== 502) return [`answers ${status}: ${text}`, ...workspace.failures()];
  if (!listed) return [`status ${status} is not listed: ${text}`];
  const faults: string[] = [];
  if (isBodyValid === false && status < 400) faults.push('accepts a body that the schema refuses');
  for (const [name, { schema }] of Object.entries(listed.headers ?? {})) {
    const value = response.headers.get(name);
    if (value !== null && schema && !validatorOf(schema)(schema.type === 'integer' ? Number(value) : value))
      faults.push(`the header ${name} is ${value}`);
  }
  const [mediaType = ''] = (response.headers.get('content-type') ?? '').split(';');
  if (!listed.content) return text === '' && mediaType === '' ? faults : [...faults, `has a body: ${text}`];
  if (!listed.content[mediaType]) return [...faults, `content type ${mediaType} is not listed`];
  const { schema } = listed.content[mediaType];
  if (!schema) return faults;
  const isJson = mediaType === 'application/json' || mediaType.endsWith('+json');
  const validate = validatorOf(schema);
  if (!validate(isJson ? JSON.parse(text) : text)) faults.push(`${ajv.errorsText(validate.errors)}: ${text}`);
  return faults;
}

describe(`OpenAPI as an oracle (SEED=${seed})`, () => {
  test.each(operations.map((operation) => [operation.operationId, operation] as const))(
    '%s answers as documented, whatever the request contains',
    async (operationId, operation) => {
      await explore(RUNS, requestsOf(operation, document), async (generated) => {
        await workspace.restore();
        const prepared = prepare(operation, generated);
        const response = await workspace.gateway.fetch(prepared.path, prepared.init);
        const text = await response.text();
        const statuses = seen.get(operationId);
        statuses?.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        const faults = faultsOf(operation, prepared, response, text);
        expect(faults, `${operation.method} ${prepared.path} ${JSON.stringify(prepared.init)}`).toEqual([]);
      });
    },
  );

  test('every operation succeeded and was refused at least once', () => {
    const without = (from: number) =>
      [...seen].flatMap(([operationId, statuses]) =>
        [...statuses.keys()].some((status) => status >= from && status < from + 100) ? [] : [operationId],
      );
    // Whether a tool call succeeds depends on the connection that was generated; test/domains/mcp-use proves that it does.
    expect(without(200).filter((operationId) => operationId !== 'callMcpTool')).toEqual([]);
    expect(without(400)).toEqual([]);
    const total = [...seen.values()]
      .flatMap((statuses) => [...statuses.values()])
      .reduce((sum, count) => sum + count, 0);
    expect(total).toBeGreaterThanOrEqual(2000);
    const of = (from: number) =>
      [...seen.values()]
        .flatMap((statuses) => [...statuses])
        .reduce((sum, [status, count]) => (status >= from && status < from + 100 ? sum + count : sum), 0);
    proof('OpenAPI as an oracle', {
      figures: {
        operations: operations.length,
        requests: total,
        'answers 2xx': of(200),
        'answers 4xx': of(400),
        'answers 502 (a remote server that failed)': of(500),
        'answers that break the document': 0,
        seed,
      },
    });
  });
});
