import { causesOf } from '../errors.ts';
import { codeOf, isDatabaseAway } from './failures.ts';
import { MigrationError } from './migrations.ts';

interface Fault {
  readonly codes: RegExp;
  /** What the operator corrects; undefined: the variable that names the database. */
  readonly subject?: string;
  readonly what?: string;
  readonly advice?: string;
}

/** By SQLSTATE (PostgreSQL, appendix A), first match first. */
const FAULTS: readonly Fault[] = [
  { codes: /^28/, what: 'the database refuses the login' },
  { codes: /^3D000$/, advice: 'create it, or correct its name' },
  { codes: /^25006$/, what: 'the database accepts no writes' },
  {
    codes: /^42501$/,
    subject: 'role of the database',
    advice: 'give it the rights that docs/operations.md lists under "Two roles", or name the owner',
  },
  { codes: /^53100$/, subject: 'disk of the database' },
  {
    codes: /^53300$/,
    subject: 'connections of the database',
    advice: 'raise the limit of the server, the database or the role, or lower DATABASE_POOL_SIZE',
  },
  { codes: /^(?:40P01|55P03)$/, subject: 'locks in the database', advice: 'end the transaction that holds them' },
  { codes: /^57014$/, subject: 'statement_timeout', advice: 'raise it for the role' },
  { codes: /^5[38]/, subject: 'server of the database' },
];

/** A failure of the database at the start, as one line that begins with what to correct; undefined for any other error. */
export function startFault(error: Error, variable: string): string | undefined {
  const causes = causesOf(error);
  // Only the last cause is without the statement.
  const message = causes.at(-1)?.message ?? error.message;
  const codes = causes.flatMap((cause) => codeOf(cause) ?? []);
  const fault = FAULTS.find((each) => codes.some((code) => each.codes.test(code)));
  if (fault) {
    const { subject = variable, what, advice } = fault;
    return `${subject}: ${what === undefined ? '' : `${what}: `}${message}${advice === undefined ? '' : `; ${advice}`}`;
  }
  if (isDatabaseAway(error)) return `${variable}: the database does not answer: ${message}`;
  const migration = causes.find((cause) => cause instanceof MigrationError);
  if (migration) return `${migration.migration}: ${message}; the migrations before it are done`;
  return codes.some((code) => /^[0-9A-Z]{5}$/.test(code)) ? `${variable}: ${message}` : undefined;
}
