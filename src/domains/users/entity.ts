import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { UserId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';

const UserSchema = defineEntity({
  name: 'User',
  tableName: 'user_account',
  properties: {
    id: p.uuid().$type<UserId>().primary(),
    email: p.text().nullable(),
    name: p.text().nullable(),
    createdAt: p.datetime(),
    /** When the name was last changed. */
    updatedAt: p.datetime().defaultRaw('current_timestamp'),
  },
  uniques: [{ name: 'user_account_email_unique', properties: ['email'] }],
});

/** A person. The e-mail address, in lower case, identifies them for operators. */
export class User extends UserSchema.class {
  /** For the audit log. Undefined when the account is being deleted. */
  label(): string | undefined {
    return this.email == null ? undefined : this.name == null ? this.email : `${this.name} (${this.email})`;
  }

  rename(name: string | null, at: Date): void {
    this.name = name;
    this.updatedAt = at;
  }
}
UserSchema.setClass(User);

export type UserTables = InferKyselyDB<typeof UserSchema>;
export const USER_COLUMNS = columnNames<UserTables, 'user_account'>(UserSchema, 'user_account');
