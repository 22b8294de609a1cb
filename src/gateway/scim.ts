import { ConflictError, type DomainError, NotFoundError, ValidationError, notFound } from '../core/errors.ts';
import { type HttpAnswer, answerJson, answerWith } from '../core/http/messages.ts';
import { readJson } from '../core/http/request-body.ts';
import type { OperationContext } from '../core/operation.ts';
import {
  GROUP_FILTERS,
  LIST_SCHEMA,
  type Resource,
  ScimError,
  type StoredGroup,
  type StoredUser,
  USER_FILTERS,
  changeScimGroup,
  changeScimUser,
  createScimGroup,
  createScimUser,
  deleteScimGroup,
  deleteScimUser,
  filterIn,
  groupResource,
  listScimGroups,
  listScimUsers,
  readScimGroup,
  readScimUser,
  requireScim,
  userResource,
  versionOf,
} from '../domains/scim/public.ts';
import type { Exchange } from './exchange.ts';
import { methodNotAllowed } from './rest/handler.ts';
import { RESOURCE_TYPES, SCHEMAS, serviceProviderConfig } from './scim-discovery.ts';

/** SCIM 2.0 over HTTP (RFC 7644). Identity providers know its forms, not those of the REST API. */

export const SCIM = '/scim/v2';
/** Requests of a key in a minute, because a provider sends one for each person. */
export const SCIM_LIMIT = { atLeast: 1000 };
const MEDIA_TYPE = 'application/scim+json';
const PAGE = { default: 100, most: 200 };

export const isScim = (path: string): boolean => path === SCIM || path.startsWith(`${SCIM}/`);

const answer = (value: object, status = 200, headers: Readonly<Record<string, string>> = {}): HttpAnswer =>
  answerJson(value, { status, headers: { ...headers, 'Content-Type': MEDIA_TYPE } });

/** RFC 7644, section 3.12. */
export function answerScimError(error: DomainError): HttpAnswer {
  const isLast = error instanceof ConflictError && error.reason === 'LAST_ADMINISTRATOR';
  const status = isLast ? 400 : error.status;
  const scimType =
    error instanceof ScimError
      ? error.scimType
      : isLast
        ? 'mutability'
        : error instanceof ValidationError
          ? 'invalidSyntax'
          : undefined;
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error'];
  const body = { schemas, status: String(status), ...(scimType && { scimType }), detail: error.message };
  return answer(body, status, error.headers);
}

/** 412: the resource has another version than `If-Match` names. Thrown in the transaction, which it ends. */
class VersionError extends Error {}

interface Call {
  readonly exchange: Exchange;
  readonly context: OperationContext;
  /** The address of SCIM. */
  readonly base: string;
}

/** A type of resources, with what is done with them. */
interface Kind<Stored> {
  readonly path: 'Users' | 'Groups';
  readonly toResource: (stored: Stored, base: string) => Resource;
  readonly list: (
    call: Call,
    page: { readonly offset: number; readonly count: number },
  ) => Promise<{ readonly items: readonly Stored[]; readonly total: number }>;
  readonly read: (context: OperationContext, id: string) => Promise<Stored>;
  readonly create: (context: OperationContext, body: unknown) => Promise<Stored>;
  readonly change: (
    context: OperationContext,
    input: {
      readonly id: string;
      readonly body: unknown;
      readonly isPatch: boolean;
      readonly check: (current: Stored) => void;
    },
  ) => Promise<Stored>;
  readonly remove: (
    context: OperationContext,
    input: { readonly id: string; readonly check: (current: Stored) => void },
  ) => Promise<null>;
}

const USERS: Kind<StoredUser> = {
  path: 'Users',
  toResource: ({ state, ...stored }, base) =>
    userResource(state, { ...stored, location: `${base}/Users/${stored.id}` }),
  list: ({ exchange, context }, page) =>
    listScimUsers(context, { ...page, filter: filterIn(exchange.url.searchParams.get('filter'), USER_FILTERS) }),
  read: readScimUser,
  create: createScimUser,
  change: changeScimUser,
  remove: deleteScimUser,
};

const GROUPS: Kind<StoredGroup> = {
  path: 'Groups',
  toResource: ({ state, ...stored }, base) =>
    groupResource(state, { ...stored, location: `${base}/Groups/${stored.id}` }, `${base}/Users`),
  list: ({ exchange, context }, page) =>
    listScimGroups(context, {
      ...page,
      filter: filterIn(exchange.url.searchParams.get('filter'), GROUP_FILTERS),
      withMembers: !isExcluded(exchange, 'members'),
    }),
  read: readScimGroup,
  create: createScimGroup,
  change: changeScimGroup,
  remove: deleteScimGroup,
};

/** Answers a request of an identity provider. The caller is admitted, and `open` makes the context once the body was read. */
export async function answerScim(
  exchange: Exchange,
  open: () => Promise<OperationContext>,
  publicUrl: string,
): Promise<HttpAnswer> {
  const { request, path } = exchange;
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(request.method);
  exchange.isWrite = hasBody || request.method === 'DELETE';
  const reading = hasBody ? readJson(request) : Promise.resolve(undefined);
  // Errors of the body are reported after the rights were checked again.
  await reading.catch(() => undefined);
  const context = await open();
  try {
    await requireScim(context);
    const [, name = '', ...rest] = path.slice(SCIM.length).split('/');
    const call = { exchange, context, base: publicUrl + SCIM };
    if (name === 'Users' && rest.length < 2) return await answerKind(USERS, call, rest[0], await reading);
    if (name === 'Groups' && rest.length < 2) return await answerKind(GROUPS, call, rest[0], await reading);
    return discover(call, name, rest.join('/'));
  } catch (error) {
    if (!(error instanceof VersionError)) throw error;
    const detail = 'the resource was changed meanwhile; read it again';
    return answer({ schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '412', detail }, 412);
  } finally {
    context.budget.close();
  }
}

function discover({ exchange, base }: Call, name: string, id: string): HttpAnswer {
  const { method } = exchange.request;
  const known = {
    ServiceProviderConfig: [serviceProviderConfig(base)],
    ResourceTypes: RESOURCE_TYPES(base),
    Schemas: SCHEMAS(base),
  };
  const list = Object.entries(known).find(([each]) => each === name)?.[1];
  if (!list) throw new NotFoundError('the address does not exist');
  if (method !== 'GET') throw methodNotAllowed(method, ['GET']);
  const one =
    name === 'ServiceProviderConfig' && id === '' ? list[0] : list.find((each) => 'id' in each && each.id === id);
  if (id === '' && name !== 'ServiceProviderConfig') return answer(listOf(list, list.length, 1));
  if (!one) throw notFound('resource');
  return answer(one);
}

const listOf = (Resources: readonly object[], totalResults: number, startIndex: number) => ({
  schemas: [LIST_SCHEMA],
  totalResults,
  startIndex,
  itemsPerPage: Resources.length,
  Resources,
});

async function answerKind<Stored>(
  kind: Kind<Stored>,
  call: Call,
  id: string | undefined,
  body: unknown,
): Promise<HttpAnswer> {
  const { exchange, context } = call;
  const { method, headers } = exchange.request;
  exchange.operation = `scim${kind.path}`;
  const check = (current: Stored) => {
    const wanted = headers.get('if-match');
    if (wanted !== null && wanted !== '*' && !isOneOf(wanted, versionOf(shown(kind, call, current))))
      throw new VersionError();
  };
  if (id === undefined || id === '') {
    if (method === 'GET') return listed(kind, call);
    if (method !== 'POST') throw methodNotAllowed(method, ['GET', 'POST']);
    return resourceAnswer(kind, call, await kind.create(context, body), 201);
  }
  if (method === 'GET') {
    const found = resourceAnswer(kind, call, await kind.read(context, id));
    const etag = headers.get('if-none-match');
    return etag !== null && isOneOf(etag, found.headers['ETag'] ?? '')
      ? answerWith(null, { status: 304, headers: found.headers })
      : found;
  }
  if (method === 'DELETE') {
    await kind.remove(context, { id, check });
    return answerWith(null, { status: 204 });
  }
  if (method !== 'PUT' && method !== 'PATCH') throw methodNotAllowed(method, ['GET', 'PUT', 'PATCH', 'DELETE']);
  return resourceAnswer(kind, call, await kind.change(context, { id, body, isPatch: method === 'PATCH', check }));
}

/** Weak comparison (RFC 9110, section 8.8.3.2). */
const isOneOf = (header: string, version: string): boolean =>
  header.split(',').some((each) => each.trim().replace(/^W\//, '') === version.replace(/^W\//, ''));

const shown = <Stored>(kind: Kind<Stored>, { base }: Call, stored: Stored) => kind.toResource(stored, base);

function resourceAnswer<Stored>(kind: Kind<Stored>, call: Call, stored: Stored, status = 200): HttpAnswer {
  const resource = shown(kind, call, stored);
  const version = versionOf(resource);
  const body = without({ ...resource, meta: { ...resource.meta, version } }, call.exchange);
  return answer(body, status, { ETag: version, Location: resource.meta.location });
}

async function listed<Stored>(kind: Kind<Stored>, call: Call): Promise<HttpAnswer> {
  const { searchParams } = call.exchange.url;
  const startIndex = Math.min(Math.max(wholeIn(searchParams.get('startIndex'), 1), 1), 1_000_000);
  const count = Math.min(Math.max(wholeIn(searchParams.get('count'), PAGE.default), 0), PAGE.most);
  const { items, total } = await kind.list(call, { offset: startIndex - 1, count });
  const resources = items.map((stored) => {
    const resource = shown(kind, call, stored);
    return without({ ...resource, meta: { ...resource.meta, version: versionOf(resource) } }, call.exchange);
  });
  return answer(listOf(resources, total, startIndex));
}

function wholeIn(text: string | null, otherwise: number): number {
  if (text === null || text === '') return otherwise;
  if (!/^-?\d{1,9}$/.test(text)) throw new ScimError('invalidValue', 'startIndex and count: must be whole numbers');
  return Number(text);
}

function isExcluded({ url }: Exchange, name: string): boolean {
  const excluded = url.searchParams.get('excludedAttributes') ?? '';
  return excluded.split(',').some((each) => each.trim().toLowerCase() === name);
}

/** Leaves out what the client does not want. `id`, `schemas` and `meta` are always there. */
function without(resource: object, exchange: Exchange): object {
  const kept = new Set(['schemas', 'id', 'meta']);
  return Object.fromEntries(
    Object.entries(resource).filter(([name]) => kept.has(name) || !isExcluded(exchange, name.toLowerCase())),
  );
}
