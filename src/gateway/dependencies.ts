import type { Logger } from 'pino';
import type { Config } from '../core/config.ts';
import type { Database } from '../core/database.ts';
import type { Actor, OperationContext } from '../core/operation.ts';
import type { SecretBox } from '../core/secrets.ts';
import type { Sql } from '../core/sql.ts';
import type { Metrics } from './metrics.ts';

/** All that the gateway works with; put together by `main.ts`, and by tests. */
export interface Dependencies {
  readonly config: Config;
  readonly database: Database;
  readonly sql: Sql;
  readonly secrets: SecretBox;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly now: () => Date;
  readonly newId: () => string;
}

/** The context of one request: its own unit of work, made when a change first asks for it, since reads need none. */
export function operationContext({ config, database, sql, now, newId }: Dependencies, actor: Actor, requestId: string): OperationContext {
  let em: OperationContext['em'] | undefined;
  return {
    get em() {
      return (em ??= database.em.fork());
    },
    sql,
    actor,
    requestId,
    now,
    newId,
    settings: { defaultSubscriptions: config.DEFAULT_SUBSCRIPTION },
  };
}
