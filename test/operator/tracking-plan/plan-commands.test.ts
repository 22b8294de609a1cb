import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isPlanCommand } from '../../../src/operator/command.ts';
import { parseCommandLine } from '../../../src/operator/command-line.ts';
import { runPlanCommand } from '../../../src/operator/tracking-plan/plan-commands.ts';
import { DEFINITIONS_PATH } from '../../support/fixtures/event-definitions.ts';
import { type ServedGateway, startServedGateway } from '../../support/fixtures/served-gateway.ts';
import { type FileEvent, compile, fileOf, manyEvents } from '../../support/fixtures/tracking-plans.ts';

let gateway: ServedGateway;
let folder: string;
beforeAll(async () => {
  gateway = await startServedGateway();
  folder = await mkdtemp(join(tmpdir(), 'plans-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a command as the command line does, against a gateway on a port. Words that are objects or bytes become files. */
async function planCommand(key: string, ...words: readonly (string | object)[]) {
  const args = await Promise.all(
    words.map(async (word, index) => {
      if (typeof word === 'string') return word;
      const path = join(folder, `${index}.yaml`);
      await writeFile(path, Buffer.isBuffer(word) ? word : fileOf(word));
      return path;
    }),
  );
  const command = parseCommandLine(['plan', ...args]);
  if (!isPlanCommand(command)) throw new Error(`${command.name} is no command of the plan`);
  try {
    return await runPlanCommand(command, { GATEWAY: `${gateway.url}/`, KEY: key });
  } catch (error) {
    return { output: error instanceof Error ? error.message : String(error), exitStatus: 2 };
  }
}

const lastLine = ({ output }: { output: string }) => output.trimEnd().split('\n').at(-1);

test('a plan of 200 events: apply, export, check, a conflict in the middle, types', async () => {
  const { key } = await gateway.createKey({ scopes: ['behavioral_events.event_definitions.read_write'] });
  const events = manyEvents(200);
  const first = await planCommand(key, 'apply', events, '--dry-run');
  expect(lastLine(first)).toBe('dry run, nothing was changed: 200 created, 0 changed, 0 deleted');
  expect(lastLine(await planCommand(key, 'apply', events))).toBe('applied: 200 created, 0 changed, 0 deleted');

  // The exported plan is the same, and so is the plan that it makes of another organization.
  const { output: exported } = await planCommand(key, 'export');
  const other = await gateway.createKey();
  await writeFile(join(folder, 'exported.yaml'), exported);
  const path = join(folder, 'exported.yaml');
  expect(await planCommand(key, 'check', path)).toEqual({ output: 'no differences\n', exitStatus: 0 });
  expect(await planCommand(key, 'check', path, '--against', events)).toEqual({
    output: 'no differences\n',
    exitStatus: 0,
  });
  expect(lastLine(await planCommand(other.key, 'apply', path))).toBe('applied: 200 created, 0 changed, 0 deleted');
  expect((await planCommand(other.key, 'export')).output).toBe(exported);

  const { event_010: tenth, event_199: _last, ...rest } = events;
  const additive: Record<string, FileEvent> = {
    ...rest,
    event_199: events['event_199'] ?? { label: '' },
    event_010: { ...tenth, label: 'Renamed' },
    event_200: { label: 'New' },
  };
  expect(await planCommand(key, 'check', additive)).toEqual({
    output: '~ event_010.label: "Event 10" -> "Renamed"\n+ event_200: event\n2 differences, 0 breaking\n',
    exitStatus: 0,
  });
  const breaking = await planCommand(key, 'check', {
    ...rest,
    event_010: { ...tenth, label: 'Event 10', properties: {} },
  });
  expect([breaking.exitStatus, lastLine(breaking)]).toEqual([0, '= event_199: kept; --delete deletes it']);

  // A name in the middle that was used before is refused, and with it the whole plan.
  await gateway.rest('POST', DEFINITIONS_PATH, { key, body: { label: 'X', name: 'event_100_used' } });
  await gateway.rest('DELETE', `${DEFINITIONS_PATH}/event_100_used`, { key });
  const conflict = await planCommand(key, 'apply', { ...additive, event_100_used: { label: 'Used' } });
  expect(conflict).toEqual({
    output:
      '409: event_100_used.name: event_100_used was used by a deleted event definition and can never be used again; choose another name',
    exitStatus: 2,
  });
  expect((await planCommand(key, 'export')).output).toBe(exported);

  expect(lastLine(await planCommand(key, 'apply', additive))).toBe('applied: 1 created, 1 changed, 0 deleted');
  const { output: types } = await planCommand(key, 'types', additive);
  expect(await compile({ 'events.ts': types })).toBe('');
});

test('without --delete nothing is deleted, and with it what the file does not have', async () => {
  const { key } = await gateway.createKey();
  const { event_000: a, event_001: b } = manyEvents(2);
  await planCommand(key, 'apply', { event_000: a, event_001: b });
  const { bool_value: bool, date_value: date } = a?.properties ?? {};
  const smaller = { event_000: { ...a, properties: { bool_value: bool, date_value: date } } };
  const kept = await planCommand(key, 'apply', smaller);
  expect(kept.output).toBe(
    'no differences\n= event_000.properties.datetime_value: kept; --delete deletes it\n= event_000.properties.enumeration_value: kept; --delete deletes it\n= event_000.properties.number_value: kept; --delete deletes it\n= event_000.properties.string_value: kept; --delete deletes it\n= event_001: kept; --delete deletes it\napplied: 0 created, 0 changed, 0 deleted\n',
  );
  expect(lastLine(await planCommand(key, 'apply', smaller, '--delete'))).toBe(
    'applied: 0 created, 1 changed, 1 deleted',
  );
  expect(lastLine(await planCommand(key, 'check', smaller))).toBe('no differences');
});

test('without --delete an option stays, and with it the file decides', async () => {
  const { key } = await gateway.createKey();
  const eventWith = (...values: readonly string[]) => {
    const options = values.map((value) => ({ value, label: value }));
    return { paid: { label: 'Paid', properties: { method: { label: 'Method', type: 'enumeration', options } } } };
  };
  await planCommand(key, 'apply', eventWith('card', 'cash'));
  expect((await planCommand(key, 'apply', eventWith('invoice', 'card'))).output).toBe(
    '+ paid.properties.method.options: "invoice"\n1 difference, 0 breaking\n= paid.properties.method.options: "cash": kept; --delete deletes it\napplied: 0 created, 1 changed, 0 deleted\n',
  );
  expect(await planCommand(key, 'check', eventWith('invoice', 'card', 'cash'))).toMatchObject({ exitStatus: 0 });
  await planCommand(key, 'apply', eventWith('invoice', 'card'), '--delete');
  expect((await planCommand(key, 'check', eventWith('invoice', 'card'))).output).toBe('no differences\n');
});

test('missing settings, refused keys and unusable files are one line each, and never status 1', async () => {
  const { key } = await gateway.createKey({ scopes: ['sessions.read'] });
  expect(await planCommand(key, 'export')).toEqual({
    output: '403: the API key lacks the scope behavioral_events.event_definitions.read_write',
    exitStatus: 2,
  });
  expect(await planCommand('wgk_wrong', 'check', {})).toMatchObject({
    output: expect.stringMatching(/^401: [^\n]*$/),
    exitStatus: 2,
  });
  expect(await planCommand('two words', 'check', {})).toMatchObject({
    output: 'KEY: must be an API key of the gateway',
    exitStatus: 2,
  });
  expect(await planCommand(key, 'types', 'missing.yaml')).toMatchObject({
    output: 'there is no file missing.yaml',
    exitStatus: 2,
  });
  for (const GATEWAY of ['', 'gateway', 'file:///etc', 'http://ann:secret@127.0.0.1', 'http://127.0.0.1/?x=1'])
    await expect(runPlanCommand({ name: 'plan export' }, { GATEWAY, KEY: key })).rejects.toThrow(
      'GATEWAY: must be the address of the gateway, such as https://gateway.example.com',
    );
});

test('a type that would refuse values is changed only with --breaking; a wider one is changed without it', async () => {
  const { key } = await gateway.createKey();
  const paid = (label: string, total: string, note: string) => ({
    paid: {
      label,
      properties: { total: { label: 'Total', type: total }, note: { label: 'Note', type: note } },
    },
  });
  await planCommand(key, 'apply', paid('Paid', 'number', 'string'));
  const refusal = {
    output:
      '~ paid.properties.note.type: "string" -> "bool" [breaking: values of string can be refused]\n1 difference, 1 breaking\nnothing was changed: the type of a property changes so that values can be refused; --breaking allows it',
    exitStatus: 2,
  };
  const narrower = paid('Paid once', 'string', 'bool');
  expect(await planCommand(key, 'apply', narrower)).toEqual(refusal);
  expect(await planCommand(key, 'apply', narrower, '--dry-run')).toEqual(refusal);
  expect(await planCommand(key, 'apply', narrower, '--delete')).toEqual(refusal);
  expect((await planCommand(key, 'check', paid('Paid', 'number', 'string'))).output).toBe('no differences\n');
  expect(lastLine(await planCommand(key, 'apply', paid('Paid', 'string', 'string')))).toBe(
    'applied: 0 created, 1 changed, 0 deleted',
  );
  expect(lastLine(await planCommand(key, 'apply', narrower, '--breaking'))).toBe(
    'applied: 0 created, 1 changed, 0 deleted',
  );
  expect((await planCommand(key, 'check', narrower)).output).toBe('no differences\n');
});

test('a plan of more than 250 changed events is applied in parts; after a refused one it is applied from there', async () => {
  const { key } = await gateway.createKey();
  const events = Object.fromEntries(
    Array.from({ length: 600 }, (_, index) => [`event_${String(index).padStart(3, '0')}`, { label: `${index}` }]),
  );
  expect(lastLine(await planCommand(key, 'apply', events, '--dry-run'))).toBe(
    'dry run in 3 parts, each in one transaction, nothing was changed: 600 created, 0 changed, 0 deleted',
  );
  // The name of an event in the second part was used before.
  await gateway.rest('POST', DEFINITIONS_PATH, { key, body: { label: 'X', name: 'event_300' } });
  await gateway.rest('DELETE', `${DEFINITIONS_PATH}/event_300`, { key });
  const refused = await planCommand(key, 'apply', events);
  expect([refused.exitStatus, refused.output.split('\n')]).toEqual([
    2,
    [
      '409: event_300.name: event_300 was used by a deleted event definition and can never be used again; choose another name',
      'the first 1 of 3 parts are applied (250 created, 0 changed, 0 deleted); mend the fault and apply the plan again',
    ],
  ]);
  const { event_300: _used, ...mended } = events;
  expect(lastLine(await planCommand(key, 'apply', mended))).toBe(
    'applied in 2 parts, each in one transaction: 349 created, 0 changed, 0 deleted',
  );
  expect(lastLine(await planCommand(key, 'apply', { kept: { label: 'Kept' } }, '--delete'))).toBe(
    'applied in 3 parts, each in one transaction: 1 created, 0 changed, 599 deleted',
  );
});

test('a plan whose changes do not fit in a request is applied in parts', async () => {
  const { key } = await gateway.createKey();
  const description = 'x'.repeat(9_000);
  const property = { label: 'P', type: 'string', description };
  const properties = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`p${index}`, property]));
  const events = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`e${index}`, { label: 'E', properties }]),
  );
  expect(lastLine(await planCommand(key, 'apply', events))).toBe(
    'applied in 2 parts, each in one transaction: 12 created, 0 changed, 0 deleted',
  );
});

test('a file that is not UTF-8 changes nothing', async () => {
  const { key } = await gateway.createKey();
  const latin = Buffer.from(fileOf({ paid: { label: 'Bezahlt für Größe' } }), 'latin1');
  expect(await planCommand(key, 'apply', latin)).toEqual({
    output: expect.stringMatching(/1\.yaml: line 1 is not UTF-8; save the file as UTF-8$/),
    exitStatus: 2,
  });
  expect((await planCommand(key, 'export')).output).toBe('version: 1\nevents: {}\n');
});
