import { createHash } from 'node:crypto';
import type { OperationContext } from '../../core/operation.ts';

/**
 * Calls that can be canceled by the id of their request, in whatever process they are open. Clients choose ids, and several can have the same
 * key: a call is canceled only if no other one has its name.
 */

/** Which call it is. */
export interface CallName {
  /** The address at which it was made, with the session of the protocol if there is one. */
  readonly address: string;
  readonly id: unknown;
}

/** The calls of each name in this process. */
const newOpenCalls = () => new Map<string, Set<() => void>>();

/** How long the processes have to say that they have such a call. */
const ANSWER_MS = 500;

const topicsOf = ({ actor }: OperationContext, { address, id }: CallName) => {
  const text = JSON.stringify([actor.keyId, address, id]);
  const name = createHash('sha256').update(text).digest('base64url');
  return {
    name,
    asked: `mcp-call-asked:${name}`,
    found: `mcp-call-found:${name}`,
    canceled: `mcp-call-canceled:${name}`,
  };
};

/** Lets a call be canceled. @returns a function to call when it has ended. */
export function openCall(context: OperationContext, given: CallName, cancel: () => void): () => void {
  const { caches, notifier } = context;
  const { name, asked, found, canceled } = topicsOf(context, given);
  const open = caches.of(newOpenCalls);
  const calls = open.get(name) ?? new Set();
  open.set(name, calls.add(cancel));
  const unsubscribe = [
    notifier.subscribe(asked, (isNotified) => {
      if (isNotified) notifier.publish(found);
    }),
    notifier.subscribe(canceled, (isNotified) => {
      if (isNotified && calls.size === 1) cancel();
    }),
  ];
  return () => {
    for (const end of unsubscribe) end();
    calls.delete(cancel);
    if (calls.size === 0 && open.get(name) === calls) open.delete(name);
  };
}

/** Cancels the call of this name, if there is exactly one in all processes. Returns at once. */
export function cancelCall(context: OperationContext, given: CallName): void {
  if (given.id === undefined) return;
  const { notifier } = context;
  const { asked, found, canceled } = topicsOf(context, given);
  let count = 0;
  const ask = () => {
    notifier.publish(asked);
    setTimeout(() => {
      unsubscribe();
      if (count === 1) notifier.publish(canceled);
    }, ANSWER_MS).unref();
  };
  const isListening = notifier.isListening;
  const unsubscribe = notifier.subscribe(found, (isNotified) => {
    if (isNotified) count += 1;
    else if (!isListening) ask();
  });
  if (isListening) ask();
}
