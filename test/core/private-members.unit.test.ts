import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { type AddressInfo, type Socket, Server as NetServer, connect } from 'node:net';
import { Duplex } from 'node:stream';
import { ArrayType, PostgreSqlPlatform } from '@mikro-orm/postgresql';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { message } from '../support/peers/postgres-server.ts';

/**
 * What the code knows of libraries beyond their documentation, one place per library. A test here fails when a library
 * no longer has it; its message names the place that has to change.
 */

describe('pg has what core/postgres/driver uses', () => {
  test('Connection.attachListeners, which client.ts replaces to read rows', () => {
    const client = new pg.Client({ host: '127.0.0.1', stream: () => new Duplex({ read() {}, write() {} }) });
    const attachListeners = vi.fn<(stream: Duplex) => void>();
    Object.assign(client.connection, { attachListeners });
    Object.assign(client.connection.stream, { setNoDelay() {}, connect() {} });
    client.connect(() => undefined);
    expect(attachListeners, 'pg no longer calls Connection.attachListeners').toHaveBeenCalledWith(
      client.connection.stream,
    );
    client.connection.stream.destroy();
  });

  test('Parser.handlePacket, which row-parser.ts overrides', async () => {
    const { Parser } = await import('pg-protocol/dist/parser.js');
    class Noting extends Parser {
      readonly codes: number[] = [];
      protected override handlePacket(offset: number, code: number, length: number, bytes: Buffer) {
        this.codes.push(code);
        return super.handlePacket(offset, code, length, bytes);
      }
    }
    const parser = new Noting();
    parser.parse(message('D', Buffer.from([0, 0])), () => undefined);
    expect(parser.codes, 'pg no longer calls Parser.handlePacket').toEqual(['D'.charCodeAt(0)]);
  });

  test('Connection.parsedStatements, by which statement-query.ts knows what is prepared', () => {
    expect(new pg.Connection(), 'pg no longer has Connection.parsedStatements').toHaveProperty('parsedStatements', {});
  });

  test('prepareValue, with which statement-query.ts writes values', async () => {
    const { prepareValue } = await import('pg/lib/utils.js');
    const values = [null, 7, true, ['a"b', null], { a: [1] }, Buffer.from('x')];
    const written = [null, '7', 'true', '{"a\\"b",NULL}', '{"a":[1]}', Buffer.from('x')];
    expect(values.map(prepareValue), 'pg writes values otherwise').toEqual(written);
  });
});

test('MikroORM writes lists with Platform.marshallArray, which core/postgres/connections.ts replaces', () => {
  const platform = Object.assign(new PostgreSqlPlatform(), { marshallArray: (values: string[]) => values.join('|') });
  expect(new ArrayType().convertToDatabaseValue(['NULL', ' a'], platform)).toBe('NULL| a');
});

async function listen(server: Server): Promise<Socket> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return connect((server.address() as AddressInfo).port, '127.0.0.1');
}

test('Node.js names the answer of a socket _httpMessage, by which gateway/http/server.ts knows that an answer is awaited or has begun', async () => {
  const server = createServer((_, response) => response.write('begun'));
  const client = await listen(server);
  const failed = once(server, 'clientError');
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(client, 'data');
  client.write('no request\r\n\r\n');
  const [, socket] = (await failed) as [Error, Socket & { _httpMessage?: { headersSent: boolean } }];
  expect(socket._httpMessage?.headersSent, 'Node.js no longer has socket._httpMessage').toBe(true);
  socket.destroy();
  server.close();
});

test('the close of net.Server keeps idle connections of an http.Server, as gateway/http/server.ts needs', async () => {
  const server = createServer((_, response) => response.end('served'));
  const client = await listen(server);
  const ask = async () => {
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    return String((await once(client, 'data'))[0]).includes('served');
  };
  expect(await ask()).toBe(true);
  NetServer.prototype.close.call(server);
  expect(await ask(), 'the idle connection was closed').toBe(true);
  client.destroy();
  server.close();
});
