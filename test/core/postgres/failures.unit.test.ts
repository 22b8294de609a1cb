import pg from 'pg';
import { expect, test } from 'vitest';
import { UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import { ConflictError } from '../../../src/core/errors.ts';
import {
  conflictOf,
  databaseTrouble,
  isDatabaseAway,
  violatedConstraint,
} from '../../../src/core/postgres/failures.ts';
import { WELCOME, message, startPostgresServer } from '../../support/peers/postgres-server.ts';

/** Error codes of PostgreSQL's documentation (appendix A) that are caused by the server or by its current state, not by the statement. */
const AWAY = `08000 08001 08003 08004 08006 08007 08P01 57000 57P01 57P02 57P03 57P04 57P05 25006 28000 28P01
  3D000`.split(/\s+/);
const BUSY = `40000 40001 40003 40P01 53000 53200 53300 53400 55000 55006 55P03 57014 58000 58030 58P01 58P02
  25P03 25P04 26000`.split(/\s+/);
/** At least one code of every class that is caused by a statement, its values or a defect. */
const NONE = `0A000 21000 22001 22P02 23502 23503 23505 23514 25000 25P02 2BP01 40002 42501 42601 42703 42P01
  42P05 42P18 54000 54001 55P02 55P04 F0000 P0001 XX000 XX001 XX002`.split(/\s+/);

function databaseError(code: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('a message in any language', 0, 'error'), { code });
}

const wrapped = (error: unknown) => new Error('caused by it', { cause: error });

test('each error code of PostgreSQL is classified as unavailability or as a fault of the statement', () => {
  const of = (codes: readonly string[]) => codes.map((code) => [code, databaseTrouble(wrapped(databaseError(code)))]);
  const all = (codes: readonly string[], trouble: string | undefined) => codes.map((code) => [code, trouble]);
  expect(of(AWAY)).toEqual(all(AWAY, 'away'));
  expect(of(BUSY)).toEqual(all(BUSY, 'busy'));
  expect(of(['53100'])).toEqual([['53100', 'full']]);
  expect(of(NONE)).toEqual(all(NONE, undefined));
});

test('a code that is not text is not an error code of PostgreSQL', () => {
  expect(databaseTrouble(Object.assign(new Error('a message'), { code: 57014 }))).toBeUndefined();
});

const CODES = `ECONNREFUSED ECONNRESET ECONNABORTED EPIPE EPROTO ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND
  EAI_AGAIN ERR_STREAM_DESTROYED ERR_SSL_UNEXPECTED_EOF_WHILE_READING CERT_HAS_EXPIRED
  CERT_NOT_YET_VALID DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN
  UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT_LOCALLY ERR_TLS_CERT_ALTNAME_INVALID`.split(/\s+/);

test('errors of the network and of TLS are unavailability, and errors of files are not', () => {
  const of = (code: string) => databaseTrouble(wrapped(Object.assign(new Error(code), { code })));
  expect(CODES.filter((code) => of(code) !== 'away')).toEqual([]);
  expect(['ENOENT', 'EACCES', 'ERR_INVALID_ARG_TYPE', undefined].map((code) => of(code ?? ''))).toEqual(
    Array.from({ length: 4 }, () => undefined),
  );
});

type Reaction = Buffer | 'end' | 'reset' | 'nothing';

/** The error of the driver for a server that reacts to each connection in this way. */
async function failureAgainst(answer: (port: number) => pg.ClientConfig, reaction: Reaction) {
  const server = await startPostgresServer((socket) => {
    if (reaction === 'end') socket.end();
    else if (reaction === 'reset') socket.resetAndDestroy();
    else if (reaction !== 'nothing') socket.write(reaction);
  });
  const client = new pg.Client({ host: '127.0.0.1', user: 'a', password: 'b', ...answer(server.port) });
  client.on('error', () => undefined);
  const failure: unknown = await client.connect().catch((error: unknown) => error);
  client.end().catch(() => undefined);
  server.close();
  return failure;
}

test('errors of the driver while it connects are unavailability', async () => {
  const plain = (port: number) => ({ port });
  const sasl = Buffer.concat([Buffer.from([0, 0, 0, 10]), Buffer.from('UNKNOWN\0\0')]);
  const failures = [
    await failureAgainst(plain, 'end'),
    await failureAgainst(plain, 'reset'),
    await failureAgainst((port) => ({ port, connectionTimeoutMillis: 1 }), 'nothing'),
    await failureAgainst((port) => ({ port, ssl: true }), Buffer.from('N')),
    await failureAgainst((port) => ({ port, ssl: true }), Buffer.from('?')),
    await failureAgainst(plain, message('R', sasl)),
    await failureAgainst(() => ({ port: 1 }), 'nothing'),
    await failureAgainst(() => ({ host: 'name.invalid', port: 1 }), 'nothing'),
  ];
  expect(failures.map((failure) => [String(failure), databaseTrouble(wrapped(failure))])).toEqual(
    failures.map((failure) => [String(failure), 'away']),
  );
});

test('the error of a statement on a closed connection is unavailability', async () => {
  const client = new pg.Client('postgresql://127.0.0.1:1/none');
  await client.end();
  const failure: unknown = await client.query('select 1').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Error);
  expect(databaseTrouble(failure)).toBe('away');
  expect(databaseTrouble(wrapped(failure))).toBe('away');
  expect(databaseTrouble(new Error('something else'))).toBeUndefined();
});

test('a pool whose connections are all in use is busy', async () => {
  const server = await startPostgresServer((socket) => socket.write(WELCOME));
  const { port } = server;
  const pool = new pg.Pool({ host: '127.0.0.1', user: 'a', port, max: 1 });
  const taken = await pool.connect();
  pool.options.connectionTimeoutMillis = 1;
  const failure: unknown = await pool.connect().catch((error: unknown) => error);
  expect([failure, wrapped(failure)].map(databaseTrouble)).toEqual(['busy', 'busy']);
  taken.release(true);
  server.close();
});

test('every kind of unavailability is temporary, and other errors are not', () => {
  const isAway = (code: string) => isDatabaseAway(databaseError(code));
  expect(['57P01', '53100', '40001', '23505'].map(isAway)).toEqual([true, true, true, false]);
});

test('the violation of a named constraint is its conflict, and other errors are not', () => {
  const conflicts = { name_unique: (name: string) => new ConflictError('NAME_TAKEN', `${name} is taken`) };
  const violation = (fields: object) =>
    new UniqueConstraintViolationException(Object.assign(databaseError('23505'), fields));
  const found = conflictOf(violation({ constraint: 'name_unique' }), conflicts);
  expect(found?.('order').message).toBe('order is taken');
  const others = [
    violation({ constraint: 'other' }),
    violation({}),
    Object.assign(new Error('x'), { constraint: 'name_unique' }),
  ];
  expect(others.map((error) => conflictOf(error, conflicts))).toEqual([undefined, undefined, undefined]);
});

test('the violated constraint is known from the error, and on Citus from its message', () => {
  const ofPostgres = Object.assign(new Error('duplicate'), { constraint: 'session_pkey' });
  const ofShard = Object.assign(new Error('duplicate'), { constraint: 'session_pkey_102046' });
  const ofCitus = new Error('duplicate key value violates unique constraint "session_pkey_102046"');
  expect([ofPostgres, ofShard, ofCitus].map(violatedConstraint)).toEqual([
    'session_pkey',
    'session_pkey',
    'session_pkey',
  ]);
  expect(violatedConstraint(new Error('other'))).toBeUndefined();
});
