import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type ListMethod, noteListsChanged } from '../mcp-connections/public.ts';
import { memberOf } from '../../core/text/json-scanner.ts';
import type { Call } from './server-call.ts';
import { type ServerMessage, readServerMessage } from './message.ts';

/** What a server lists: the method, and the member of its result. */
export interface Listing {
  readonly method: ListMethod;
  readonly member: 'tools' | 'prompts' | 'resources' | 'resourceTemplates';
}

export const TOOLS: Listing = { method: 'tools/list', member: 'tools' };
export const RESOURCES: Listing = { method: 'resources/list', member: 'resources' };
export const LISTINGS: readonly Listing[] = [
  TOOLS,
  { method: 'prompts/list', member: 'prompts' },
  RESOURCES,
  { method: 'resources/templates/list', member: 'resourceTemplates' },
];

/** What servers send shows that their lists have changed: the notification, and a list that is not the one before. */

type Used = Pick<Call, 'context' | 'connection'>;

const NOTIFICATION = /^notifications\/(?:tools|prompts|resources)\/list_changed$/;

/** Call with the text of each message of a server that is not a response. */
export function noteNotification({ context, connection }: Used, text: string): void {
  if (!text.includes('list_changed')) return;
  const { method = '' } = readServerMessage(text) ?? {};
  if (NOTIFICATION.test(method)) void noteListsChanged(context, connection.id);
}

/** The hashes of the lists that have passed last. */
const newPassedLists = () => new LRUCache<string, string>({ max: 4_000 });

/** Call with each response that is passed on. */
export function notePassedList({ context, connection, message }: Call, response: ServerMessage | undefined): void {
  const listing = LISTINGS.find(({ method }) => method === message?.method);
  if (!listing || message?.params['cursor'] !== undefined || response?.result?.startsWith('{') !== true) return;
  const list = memberOf(response.result, listing.member);
  if (list === undefined) return;
  const passed = context.caches.of(newPassedLists);
  const key = `${connection.id} ${listing.method}`;
  const hash = createHash('sha256').update(list).digest('base64');
  const before = passed.get(key);
  passed.set(key, hash);
  if (before !== undefined && before !== hash) void noteListsChanged(context, connection.id);
}
