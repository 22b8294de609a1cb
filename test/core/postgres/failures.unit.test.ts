import { createServer } from 'node:net';
import pg from 'pg';
import { expect, test } from 'vitest';
import { databaseTrouble } from '../../../src/core/postgres/failures.ts';

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

/** The error of the driver for a server that reacts to each connection in this way. */
async function failureAgainst(answer: (port: number) => pg.ClientConfig, say: Buffer | 'end' | 'reset' | 'nothing') {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      if (say === 'end') socket.end();
      else if (say === 'reset') socket.resetAndDestroy();
      else if (say !== 'nothing') socket.write(say);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const client = new pg.Client({ host: '127.0.0.1', user: 'a', password: 'b', ...answer(port) });
  client.on('error', () => undefined);
  const failure: unknown = await client.connect().catch((error: unknown) => error);
  client.end().catch(() => undefined);
  server.close();
  return failure;
}

/** A message of the protocol: its type, its length, its content. */
function message(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(content.length + 4);
  return Buffer.concat([Buffer.from(type), length, content]);
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
