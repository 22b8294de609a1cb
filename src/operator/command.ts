import type { ProductFamily, SubscriptionLevel } from '../core/config.ts';
import type { ApiKeyId, SessionId } from '../core/ids.ts';
import type { FormatName } from '../domains/session-events/public.ts';
import type { Role, Scope } from '../core/access.ts';

/** The options of every list. */
interface ListOptions {
  /** Slug of the organization to list. */
  readonly organization?: string;
  /** Whether to print JSON even in a terminal. */
  readonly json?: boolean;
}

export type Command =
  | { readonly name: 'migrate' | 'secrets rotate' | 'seed' }
  | {
      readonly name: 'keys create';
      readonly email: string;
      readonly organization?: string;
      readonly role?: Role;
      readonly scopes?: readonly Scope[];
      /** The name of the key. */
      readonly label?: string | undefined;
      /** When the key expires, or after how many milliseconds. */
      readonly expires?: Date | number | undefined;
    }
  | ({ readonly name: 'keys list'; readonly email?: string; readonly all?: boolean } & ListOptions)
  | { readonly name: 'keys revoke'; readonly keyId: ApiKeyId }
  | ({ readonly name: 'organizations list' | 'users list' | 'sessions list' } & ListOptions)
  | {
      readonly name: 'subscriptions set';
      readonly organization: string;
      readonly family: ProductFamily;
      readonly level: SubscriptionLevel;
    }
  | {
      readonly name: 'events import';
      readonly sessionId: SessionId;
      readonly path: string;
      readonly format?: FormatName | undefined;
    }
  | {
      readonly name: 'events prune';
      /** Minimum age of deleted events; undefined for any age. */
      readonly olderThanMs?: number;
      readonly sessionId?: SessionId;
      readonly organization?: string;
      readonly isDryRun: boolean;
    }
  | { readonly name: 'plan export' }
  | { readonly name: 'plan check'; readonly path: string; readonly against?: string }
  | {
      readonly name: 'plan apply';
      readonly path: string;
      readonly isDryRun: boolean;
      /** Whether to delete what is not in the file. */
      readonly deletes: boolean;
    }
  | { readonly name: 'plan types'; readonly path: string };
export type CommandName = Command['name'];
/** The commands that call a gateway over HTTP, or read only files. All others use the database. */
export type PlanCommand = Extract<Command, { name: `plan ${string}` }>;
export type DatabaseCommand = Exclude<Command, PlanCommand>;
