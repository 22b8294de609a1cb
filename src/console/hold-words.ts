import type { VNode } from 'preact';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Time, personOf } from './parts.ts';

/** Who holds a session, since when, and why. */
export function HoldWords({
  hold,
}: {
  readonly hold: NonNullable<NonNullable<Answers['Session']['session']>['hold']>;
}): VNode {
  return html`<span
    >Held by <bdi>${personOf(hold.heldBy)}</bdi> since <${Time} at=${hold.heldAt} />: ${hold.reason}</span
  >`;
}
