import type { AuditTarget } from '../../core/audit.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { requireOrganization } from '../../core/access.ts';
import type { SessionId } from '../../core/ids.ts';
import { enqueueJob } from '../../core/jobs.ts';
import { type OperationContext, defineOperation, requireAuthority, unchanged } from '../../core/operation.ts';
import { lockOrganization } from '../organizations/public.ts';
import { deleteLockedSession } from './deletion.ts';
import type { Session } from './entity.ts';
import { holdSessionInput, markSessionHandledInput, sessionReference } from './input.ts';
import { lockForDeletion, lockSession } from './operations.ts';
import { HOLD_SESSIONS, WRITE_SESSIONS, requireReadable } from './policy.ts';
import type { SessionRow } from './queries.ts';
import { readRecorded } from './recording-operations.ts';
import { sessionTopic, sessionsTopic } from './topics.ts';

/** Operations that delete sessions, or keep them from it. */

const targetOf = (id: SessionId): AuditTarget => ({ type: 'Session', id });

/** @throws ConflictError (409, `HELD`) while an administrator holds the session. */
export function requireNotHeld({ heldAt }: { readonly heldAt?: Date | string | null }): void {
  if (heldAt != null)
    throw new ConflictError(
      'HELD',
      'the session is held; an administrator has to release it before it can be changed so',
    );
}

export const deleteSession = defineOperation({
  name: 'deleteSession',
  description:
    'Deletes a session with its events, artifacts and pull requests, in any state. This cannot be undone. It is gone for everybody at once; a background job then deletes the events. Only the creator and administrators can delete a session, and nobody while it is held.',
  access: WRITE_SESSIONS,
  input: sessionReference,
  errors: [NotFoundError, ConflictError],
  run: async ({ em, actor, newId }, { sessionId }) => {
    const organizationId = requireOrganization(actor).id;
    // Before the session is locked, because it takes a while.
    await enqueueJob(em, 'session-purge', { id: newId(), data: { sessionIds: [sessionId] }, delaySeconds: 0 });
    requireNotHeld(await lockForDeletion(em, actor, sessionId));
    await deleteLockedSession(em, { organizationId, id: sessionId });
    return { sessionId, organizationId };
  },
  target: ({ sessionId }) => targetOf(sessionId),
  afterCommit: async ({ notifier }, { sessionId, organizationId }) => {
    for (const topic of [sessionTopic(sessionId), sessionsTopic(organizationId)]) notifier.publish(topic);
    return { sessionId };
  },
});

export const holdSession = defineOperation({
  name: 'holdSession',
  description:
    'Keeps a session: until it is released, it cannot be deleted or redacted, nor its organization deleted, and retention skips it. Of a session that is held already, the reason is replaced.',
  access: HOLD_SESSIONS,
  input: holdSessionInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { sessionId, reason }) => {
    const { em, actor, now } = context;
    // The deletion of the organization locks it too, and then looks for held sessions.
    await lockOrganization(em, requireOrganization(actor).id);
    await requireAuthority(context);
    const session = await lockSession(em, actor, sessionId);
    const at = now();
    await em.populate(session, ['creator']);
    const holdCreatorLabel = session.creator?.label() ?? session.holdCreatorLabel ?? null;
    em.assign(session, { holdReason: reason, heldBy: actor.userId, heldAt: at, updatedAt: at, holdCreatorLabel });
    return session;
  },
  target: ({ id }, { reason }) => ({ ...targetOf(id), detail: reason }),
  afterCommit: afterChange,
});

export const releaseSession = defineOperation({
  name: 'releaseSession',
  description:
    'Ends the hold of a session, so that it can be deleted again. Releasing one that is not held changes nothing.',
  access: HOLD_SESSIONS,
  input: sessionReference,
  errors: [NotFoundError],
  run: async ({ em, actor, now }, { sessionId }) => {
    const session = await lockSession(em, actor, sessionId);
    if (session.heldAt == null) return unchanged(session);
    em.assign(session, { holdReason: null, heldBy: null, heldAt: null, holdCreatorLabel: null, updatedAt: now() });
    return session;
  },
  target: ({ id }) => targetOf(id),
  afterCommit: afterChange,
});

export const markSessionHandled = defineOperation({
  name: 'markSessionHandled',
  description:
    'Marks a session as handled, so that it needs no person any more when it has failed, or takes the mark back. Everybody who can read the session can do it. The mark is gone when the state of the session changes.',
  access: WRITE_SESSIONS,
  input: markSessionHandledInput,
  errors: [NotFoundError],
  run: async ({ em, actor, now }, { sessionId, isHandled }) => {
    const session = await lockSession(em, actor, sessionId, 'session', requireReadable);
    const at = now();
    em.assign(session, {
      handledBy: isHandled ? actor.userId : null,
      handledAt: isHandled ? at : null,
      updatedAt: at,
    });
    return session;
  },
  target: ({ id }, { isHandled }) => ({ ...targetOf(id), detail: isHandled ? 'handled' : 'not handled' }),
  afterCommit: afterChange,
});

async function afterChange(context: OperationContext, { id, organization }: Session): Promise<SessionRow> {
  context.notifier.publish(sessionsTopic(organization.id));
  return readRecorded(context, id);
}
