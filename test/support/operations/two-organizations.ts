import { randomUUID } from 'node:crypto';
import { type Peer, mcpHandler, startPeer } from '../peers/mcp-server.ts';
import { actingIn, createPerson } from '../fixtures/api-keys.ts';
import { type TestGateway, startTestGateway } from '../fixtures/gateway.ts';
import { type Admin, type Recorded, recordObjects } from './recorded-organization.ts';
import { type RecordedChange, recordChanges } from '../fixtures/recorded-changes.ts';

/** One person in two organizations, with a key bound to each and an unbound one, and an organization that they are not in. */

export type Name = 'A' | 'B' | 'C';
export const NAMES: readonly Name[] = ['A', 'B', 'C'];

export interface OrganizationFixture {
  readonly id: string;
  readonly slug: string;
  /** A key of an administrator that is bound to this organization. */
  readonly key: string;
  readonly admin: Admin;
  /** Text that occurs only in the data of this organization. */
  readonly mark: string;
}

/** A key with a header. `acts` is the organization in which its requests act, or whether they are refused. */
export interface Combination {
  readonly title: string;
  readonly key: string;
  readonly header: Record<string, string>;
  readonly acts: Name | 'nowhere' | 'refused';
  /** For a refused combination. */
  readonly refusal?: { readonly status: number; readonly message: string };
}

/** For each organization, the tables in which its rows changed. */
export type Changes = Readonly<Record<Name, ReadonlySet<string>>>;

export interface TwoOrganizations {
  readonly gateway: TestGateway;
  readonly organizations: Readonly<Record<Name, OrganizationFixture>>;
  readonly combinations: readonly Combination[];
  /** Creates one object of each kind. */
  record(where: Name): Promise<Recorded>;
  /** Returns the changes since its last call. */
  changes(): Promise<Changes>;
  close(): Promise<void>;
}

export async function startTwoOrganizations(): Promise<TwoOrganizations> {
  const gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  const peer: Peer = await startPeer(mcpHandler());
  const person = await createPerson(gateway);
  const stranger = await createPerson(gateway);
  const createFixture = async (name: Name): Promise<OrganizationFixture> => {
    const slug = `place-${name.toLowerCase()}-${randomUUID().slice(0, 8)}`;
    const administrator = name === 'C' ? stranger : person;
    const { userId } = administrator;
    const bound = await administrator.join(slug, 'admin');
    const { organizationId: id, key } = bound;
    return {
      id,
      slug,
      key,
      admin: { ...bound, userId, organization: slug },
      mark: `mark_${name.toLowerCase()}_${randomUUID().slice(0, 8)}`,
    };
  };
  const organizations = { A: await createFixture('A'), B: await createFixture('B'), C: await createFixture('C') };
  // The last use of a key is written once a minute. With a stopped clock, no later request writes it.
  gateway.setClock(new Date());
  for (const key of [organizations.A.key, organizations.B.key, organizations.C.key, person.key])
    await gateway.rest('GET', '/v1/users/me', { key });
  const takeChanges = await recordChanges(gateway);
  return {
    gateway,
    organizations,
    combinations: combinationsOf(organizations, person.key),
    record: (where) =>
      recordObjects(gateway, organizations[where].admin, {
        serverUrl: `${peer.origin}/mcp`,
        mark: organizations[where].mark,
      }),
    changes: async () => changesOf(organizations, await takeChanges()),
    async close() {
      await peer.stop();
      await gateway.close();
    },
  };
}

function combinationsOf(organizations: Readonly<Record<Name, OrganizationFixture>>, unbound: string): Combination[] {
  const headers = [undefined, ...NAMES];
  return (['A', 'B', 'unbound'] as const).flatMap((bound) =>
    headers.map((named): Combination => {
      const title = `${bound === 'unbound' ? 'an unbound key' : `a key of ${bound}`}, ${named ? `header ${named}` : 'no header'}`;
      // Some headers name the organization by its slug, the others by its id.
      const header = actingIn(named && (bound === 'A' ? organizations[named].slug : organizations[named].id));
      if (bound === 'unbound') {
        const refusal = { status: 404, message: 'X-Organization-Id: organization not found' };
        const given = { title, key: unbound, header };
        return named === 'C' ? { ...given, acts: 'refused', refusal } : { ...given, acts: named ?? 'nowhere' };
      }
      const { key, slug } = organizations[bound];
      if (named === undefined || named === bound) return { title, key, header, acts: bound };
      const message = `X-Organization-Id: this key acts only in ${slug}`;
      return { title, key, header, acts: 'refused', refusal: { status: 400, message } };
    }),
  );
}

function changesOf(
  organizations: Readonly<Record<Name, OrganizationFixture>>,
  recorded: readonly RecordedChange[],
): Changes {
  const of = ({ id }: OrganizationFixture) =>
    new Set(recorded.flatMap(({ table, before, after }) => (`${before} ${after}`.includes(id) ? table : [])));
  return { A: of(organizations.A), B: of(organizations.B), C: of(organizations.C) };
}
