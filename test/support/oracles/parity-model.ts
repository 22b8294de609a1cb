/** A minimal model of the specification: it predicts the result of each command. Tests compare the answers of the APIs with it. */

export type Actor = 'admin' | 'member' | 'foreign';
type Option = { readonly label: string; readonly value: string };

export interface PropertyInput {
  readonly label: string;
  readonly name?: string;
  readonly type: 'string' | 'number' | 'bool' | 'enumeration';
  readonly options?: readonly Option[];
}

export interface DefinitionInput {
  readonly label: string;
  readonly name?: string;
  readonly description?: string;
  readonly primaryObject?: string;
  readonly includeDefaultProperties?: boolean;
  readonly propertyDefinitions?: readonly PropertyInput[];
  readonly customMatchingId?: { primaryObjectRule: { targetObjectPropertyName: string; eventPropertyName: string } };
}

export interface Property {
  name: string;
  label: string;
  type: string;
  options: readonly Option[];
}

export interface Definition {
  name: string;
  label: string;
  description: string | null;
  primaryObject: string;
  customMatchingId: DefinitionInput['customMatchingId'] | null;
  includeDefaultProperties: boolean;
  properties: Property[];
}

export interface SessionState {
  title: string;
  agent: string | null;
  level: number;
  mode: string;
  visibility: string;
}

export interface Connection {
  readonly name: string;
  readonly visibility: 'shared' | 'personal';
}

export interface SessionChanges extends Partial<Omit<SessionState, 'title'>> {
  readonly title?: string | null;
  readonly mcpServers?: readonly string[];
}

export type Command =
  | { readonly run: 'create'; readonly input: DefinitionInput }
  | { readonly run: 'update'; readonly name: string; readonly changes: { label?: string; description?: string | null } }
  | { readonly run: 'delete'; readonly name: string }
  | { readonly run: 'addProperty'; readonly name: string; readonly input: PropertyInput }
  | {
      readonly run: 'updateProperty';
      readonly name: string;
      readonly property: string;
      readonly changes: { label?: string; options?: readonly Option[] };
    }
  | { readonly run: 'deleteProperty'; readonly name: string; readonly property: string }
  | { readonly run: 'createOrganization'; readonly input: { name: string; slug?: string } }
  | {
      readonly run: 'createConnection';
      readonly actor: Actor;
      readonly input: Connection & { command: string; args?: readonly string[]; env?: Record<string, string> };
    }
  | { readonly run: 'authorizeConnection'; readonly actor: Actor; readonly connection: number }
  | { readonly run: 'updateSession'; readonly actor: Actor; readonly session: number; readonly changes: SessionChanges }
  | {
      readonly run: 'listEvents';
      readonly actor: Actor;
      readonly session: number;
      readonly limit: number;
      readonly cursor: number;
    }
  | { readonly run: 'revokeKey'; readonly actor: Actor; readonly key: number }
  | { readonly run: 'deleteUser'; readonly actor: Actor; readonly user: Actor };

/** `ok`, or the HTTP status of the refusal. There are several if the specification does not define which rule is checked first. */
export type Expected = readonly ('ok' | number)[];

const OWNER_OF_SESSION: readonly Actor[] = ['admin', 'admin', 'member'];
const OWNER_OF_KEY: readonly Actor[] = ['admin', 'member', 'foreign'];
export const EVENTS_OF_SESSION = 7;

export class Model {
  readonly definitions = new Map<string, Definition>();
  readonly deletedNames = new Set<string>();
  readonly slugs = new Set<string>();
  readonly connections: (Connection & { owner: Actor })[] = [];
  readonly sessions: SessionState[] = [
    newSession('Public', 'public'),
    newSession('Private', 'private'),
    newSession('Private too', 'private'),
  ];
  readonly revoked = new Set<number>();

  /** The expected result of the command, and its effect if it succeeds. */
  expect(command: Command): { expected: Expected; apply: () => void } {
    switch (command.run) {
      case 'create':
        return this.#create(command.input);
      case 'update':
        return this.#onDefinition(command.name, (definition) => Object.assign(definition, command.changes));
      case 'delete':
        return this.#onDefinition(command.name, () => {
          this.definitions.delete(command.name);
          this.deletedNames.add(command.name);
        });
      case 'addProperty':
        return this.#addProperty(command.name, command.input);
      case 'updateProperty':
        return this.#updateProperty(command);
      case 'deleteProperty':
        return this.#deleteProperty(command.name, command.property);
      case 'createOrganization':
        return this.#createOrganization(command.input);
      case 'createConnection':
        return this.#createConnection(command);
      case 'authorizeConnection':
        return refusedOr(this.#connectionFault(command.actor, command.connection));
      case 'updateSession':
        return this.#updateSession(command);
      case 'listEvents':
        return refusedOr(this.#isReadable(command.actor, command.session) ? undefined : 404);
      case 'revokeKey': {
        const { actor, key } = command;
        const owner = OWNER_OF_KEY[key];
        const isReachable = owner !== undefined && (owner === actor || (actor === 'admin' && owner === 'member'));
        return refusedOr(isReachable && !this.revoked.has(key) ? undefined : 404, () => this.revoked.add(key));
      }
      case 'deleteUser':
      default:
        // The last administrator of an organization with other members cannot delete their account.
        return refusedOr(command.actor === command.user ? (command.actor === 'admin' ? 409 : undefined) : 403);
    }
  }

  #create(input: DefinitionInput) {
    const { label, name: given, propertyDefinitions = [], customMatchingId, primaryObject = 'CONTACT' } = input;
    const base = given ?? nameFrom(label, 'e_');
    const names = propertyDefinitions.flatMap(({ name }) => name ?? []);
    const isFaulty =
      base === '' ||
      propertyDefinitions.some(isFaultyProperty) ||
      new Set(names).size < names.length ||
      (primaryObject === 'NO_OBJECT' && customMatchingId !== undefined);
    if (isFaulty) return refusedOr(400);
    const properties: Property[] = [];
    const taken = new Set(names);
    for (const property of propertyDefinitions) {
      const name = property.name ?? firstFree(nameFrom(property.label, 'p_'), '_', taken);
      taken.add(name);
      properties.push(newProperty(property, name));
    }
    const matched = properties.find(({ name }) => name === customMatchingId?.primaryObjectRule.eventPropertyName);
    const isUnmatched = customMatchingId !== undefined && matched?.type !== 'string' && matched?.type !== 'number';
    const used = new Set([...this.definitions.keys(), ...this.deletedNames]);
    const refusals = [...(isUnmatched ? [400] : []), ...(given !== undefined && used.has(given) ? [409] : [])];
    if (refusals.length > 0) return { expected: refusals, apply: nothing };
    const name = given ?? firstFree(base, '_', used);
    return refusedOr(undefined, () =>
      this.definitions.set(name, {
        name,
        label,
        // Empty text is none.
        description: input.description || null,
        primaryObject,
        customMatchingId: customMatchingId ?? null,
        includeDefaultProperties: input.includeDefaultProperties ?? true,
        properties,
      }),
    );
  }

  #onDefinition(name: string, apply: (definition: Definition) => void) {
    const definition = this.definitions.get(name);
    return refusedOr(definition ? undefined : 404, () => definition && apply(definition));
  }

  #addProperty(definitionName: string, input: PropertyInput) {
    if (isFaultyProperty(input)) return refusedOr(400);
    const definition = this.definitions.get(definitionName);
    if (!definition) return refusedOr(404);
    const taken = new Set(definition.properties.map(({ name }) => name));
    if (input.name !== undefined && taken.has(input.name)) return refusedOr(409);
    const name = input.name ?? firstFree(nameFrom(input.label, 'p_'), '_', taken);
    return refusedOr(undefined, () => definition.properties.push(newProperty(input, name)));
  }

  #updateProperty({ name, property: propertyName, changes }: Extract<Command, { run: 'updateProperty' }>) {
    if (changes.options && hasDoubles(changes.options)) return refusedOr(400);
    const property = this.definitions.get(name)?.properties.find((one) => one.name === propertyName);
    if (!property) return refusedOr(404);
    if (changes.options && property.type !== 'enumeration') return refusedOr(400);
    return refusedOr(undefined, () => Object.assign(property, changes));
  }

  #deleteProperty(name: string, propertyName: string) {
    const definition = this.definitions.get(name);
    const property = definition?.properties.find((one) => one.name === propertyName);
    if (!definition || !property) return refusedOr(404);
    const isUsed = definition.customMatchingId?.primaryObjectRule.eventPropertyName === propertyName;
    return refusedOr(isUsed ? 409 : undefined, () =>
      definition.properties.splice(definition.properties.indexOf(property), 1),
    );
  }

  #createOrganization({ name, slug: given }: { name: string; slug?: string }) {
    if (given !== undefined && this.slugs.has(given)) return refusedOr(409);
    return refusedOr(undefined, () =>
      this.slugs.add(given ?? firstFree(nameFrom(name, '').replaceAll('_', '-'), '-', this.slugs)),
    );
  }

  #createConnection({ actor, input }: Extract<Command, { run: 'createConnection' }>) {
    if (input.command === '') return refusedOr(400);
    if (input.visibility === 'shared' && actor === 'member') return refusedOr(403);
    const isTaken = this.connections.some(
      ({ name, visibility, owner }) =>
        name === input.name &&
        visibility === input.visibility &&
        (visibility === 'shared' ? isInside(owner) === isInside(actor) : owner === actor),
    );
    return refusedOr(isTaken ? 409 : undefined, () => this.connections.push({ ...input, owner: actor }));
  }

  /** The error of an authorization. It always fails, because all connections are of the type `stdio`. */
  #connectionFault(actor: Actor, index: number): number {
    const connection = this.connections[index];
    if (!connection || !this.#isVisible(actor, connection)) return 404;
    return connection.visibility === 'shared' && actor === 'member' ? 403 : 409;
  }

  #isVisible(actor: Actor, { visibility, owner }: Connection & { owner: Actor }): boolean {
    return visibility === 'shared' ? isInside(owner) === isInside(actor) : owner === actor;
  }

  #isReadable(actor: Actor, index: number): boolean {
    if (actor === 'foreign') return false;
    return actor === 'admin' || OWNER_OF_SESSION[index] === actor || this.sessions[index]?.visibility === 'public';
  }

  #updateSession({ actor, session: index, changes }: Extract<Command, { run: 'updateSession' }>) {
    const { title, level = 0, agent, mcpServers, ...others } = changes;
    if (title === null || title === '' || level < 0 || level > 100 || agent === '') return refusedOr(400);
    // References in the input are checked before the session.
    const isKnown = (name: string) =>
      this.connections.some((connection) => connection.name === name && this.#isVisible(actor, connection));
    if (mcpServers?.every(isKnown) === false) return refusedOr(400);
    const session = this.sessions[index];
    if (!session || !this.#isReadable(actor, index)) return refusedOr(404);
    if (actor === 'member' && OWNER_OF_SESSION[index] !== 'member') return refusedOr(403);
    const kept = { title, level: changes.level, agent, ...others };
    return refusedOr(undefined, () =>
      Object.assign(session, Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined))),
    );
  }
}

function refusedOr(
  status: number | undefined,
  apply: () => unknown = nothing,
): { expected: Expected; apply: () => void } {
  return { expected: [status ?? 'ok'], apply: () => void apply() };
}

function nothing(): void {}

function newSession(title: string, visibility: string): SessionState {
  return { title, agent: null, level: 0, mode: 'normal', visibility };
}

function newProperty({ label, type, options = [] }: PropertyInput, name: string): Property {
  return { name, label, type, options };
}

const isInside = (actor: Actor) => actor !== 'foreign';
const hasDoubles = (options: readonly Option[]) => new Set(options.map(({ value }) => value)).size < options.length;

function isFaultyProperty({ label, name, type, options }: PropertyInput): boolean {
  if (name?.startsWith('svc_') || (name === undefined && nameFrom(label, 'p_') === '')) return true;
  if (options && hasDoubles(options)) return true;
  return (type === 'enumeration') !== (options !== undefined);
}

function nameFrom(label: string, prefix: string): string {
  const name = label
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
  return name === '' || /^[a-z]/.test(name) ? name : `${prefix}${name}`;
}

function firstFree(base: string, separator: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}${separator}${number}`;
    if (!taken.has(name)) return name;
  }
}
