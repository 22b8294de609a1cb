import { createHash } from 'node:crypto';
import pg from 'pg';
import { type Baseline, type Caller, toIso } from './baseline-core.ts';

/** The database of the servers that the gateway is compared with. */

const { DATABASE_URL, PUBLIC_URL = '', POOL = '20' } = process.env;
/** Times stay text: creating and formatting Dates takes half of the time of a large answer. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (id, format) => {
    if (id === pg.types.builtins.TIMESTAMPTZ) return toIso;
    return id === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(id, format);
  },
};
const pool = new pg.Pool({
  connectionString: DATABASE_URL,
  max: Number(POOL),
  application_name: 'baseline',
  options: '-c TimeZone=UTC',
  types,
});
pool.on('error', () => undefined);

export const baseline: Baseline = {
  publicUrl: PUBLIC_URL,
  query: async <Row extends object>(name: string, text: string, values: unknown[]) =>
    (await pool.query<Row>({ name, text, values })).rows,
};

const FIND_KEY = `
  select k.id as "keyId", k.user_id as "userId", o.id as "organizationId", o.number as "organizationNumber", m.role = 'admin' as "isAdmin"
  from api_key k join organization o on o.id = k.organization_id join membership m on m.organization_id = o.id and m.user_id = k.user_id
  where k.hash = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`;

/** The caller of a key, which is looked up each time. */
export async function authenticate(authorization: string): Promise<Caller | undefined> {
  const hash = createHash('sha256').update(authorization.slice('Bearer '.length)).digest();
  return (await baseline.query<Caller>('key', FIND_KEY, [hash]))[0];
}
