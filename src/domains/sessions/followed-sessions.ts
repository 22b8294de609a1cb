import type { SessionId } from '../../core/ids.ts';
import { NO_CONTENT } from './content-columns.ts';
import type { SessionRow } from './queries.ts';

/** Maximum number of sessions that one subscription remembers, and their maximum size as JSON. */
export const MAX_FOLLOWED = 500;
const MAX_CHARACTERS = 256 * 1024;

interface Remembered {
  readonly row: SessionRow;
  readonly characters: number;
}

/** The sessions that a subscription could see when it read them last, so that it can report the ones that leave. */
export class FollowedSessions {
  readonly #rows = new Map<SessionId, Remembered>();
  #characters = 0;

  get ids(): SessionId[] {
    return [...this.#rows.keys()];
  }

  has(id: SessionId): boolean {
    return this.#rows.has(id);
  }

  /** Remembers a session as the latest. The earliest ones are forgotten when there are too many. */
  remember(session: SessionRow): void {
    this.forget(session.id);
    // The columns with content can be large.
    const row = { ...session, ...NO_CONTENT };
    const { length: characters } = JSON.stringify(row);
    this.#rows.set(row.id, { row, characters });
    this.#characters += characters;
    for (const id of this.#rows.keys()) {
      if (this.#rows.size <= MAX_FOLLOWED && this.#characters <= MAX_CHARACTERS) break;
      this.forget(id);
    }
  }

  /** @returns the session as it was read last */
  forget(id: SessionId): SessionRow | undefined {
    const found = this.#rows.get(id);
    if (found) this.#characters -= found.characters;
    this.#rows.delete(id);
    return found?.row;
  }
}
