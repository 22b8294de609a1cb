import type { Answers } from '../generated/operation-types.ts';
import { Time, personOf } from '../parts/parts.tsx';

/** Who holds a session, since when, and why. */
export const HoldWords = ({
  hold,
}: {
  readonly hold: NonNullable<NonNullable<Answers['Session']['session']>['hold']>;
}) => (
  <span>
    Held by <bdi>{personOf(hold.holder)}</bdi> since <Time at={hold.heldAt} />: {hold.reason}
  </span>
);
