import { run } from '../parts/api.ts';
import { CheckField, SelectField, TextField, ConfirmField } from '../parts/form-fields.tsx';
import type { DialogProps } from '../parts/form-button.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { goTo, goToList } from '../parts/navigation.ts';
import { confirmDone, finish } from '../parts/notices.tsx';
import type { Connection } from './mcp-connection-types.ts';
import type { Variables } from '../generated/operation-types.ts';

/** Forms that create, change and delete MCP connections. */

const KINDS = [
  ['OAUTH', 'Remote server, signed in to by a person (OAuth) or open'],
  ['CLIENT_CREDENTIALS', 'Remote server with an OAuth client of its own'],
  ['STATIC_HEADERS', 'Remote server with fixed headers, such as an API key'],
  ['STDIO', 'Command that runs beside the agent (stdio)'],
] as const;

const VISIBILITIES = [
  ['SHARED', 'The organization'],
  ['PERSONAL', 'Only you'],
] as const;

/** The names of the values are the positions in the input. */
const EMPTY = {
  kind: 'OAUTH' as (typeof KINDS)[number][0],
  visibility: 'SHARED' as (typeof VISIBILITIES)[number][0],
  'remote.name': '',
  'remote.serverUrl': '',
  'remote.clientId': '',
  'remote.clientSecret': '',
  'remote.scope': '',
  'remote.headers': '',
  'stdio.name': '',
  'stdio.command': '',
  'stdio.args': '',
  'stdio.env': '',
};

type NewInput = Variables['CreateMcpServer']['input'];

function inputOf({ kind, visibility, ...values }: typeof EMPTY): NewInput {
  const given = (name: keyof typeof values) => values[name].trim() || null;
  if (kind === 'STDIO') {
    const args = linesOf(values['stdio.args']);
    const env = linesOf(values['stdio.env']).map((line) => namedValue(line, '='));
    const command = values['stdio.command'];
    return { stdio: { name: values['stdio.name'], command, visibility, ...filled({ args, env }) } };
  }
  const headers =
    kind === 'STATIC_HEADERS' ? linesOf(values['remote.headers']).map((line) => namedValue(line, ':')) : [];
  const client = kind !== 'STATIC_HEADERS' && {
    clientId: given('remote.clientId'),
    clientSecret: given('remote.clientSecret'),
    scope: given('remote.scope'),
    ...(kind === 'OAUTH' && given('remote.clientId') !== null && { oauthRegistration: 'PRE_REGISTERED' as const }),
  };
  const remote = { name: values['remote.name'], serverUrl: values['remote.serverUrl'], visibility, authType: kind };
  return { remote: { ...remote, ...client, ...filled({ headers }) } };
}

const filled = <Lists extends Readonly<Record<string, readonly unknown[]>>>(lists: Lists): Partial<Lists> =>
  Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)) as Partial<Lists>;

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');

function namedValue(line: string, separator: string): { readonly name: string; readonly value: string } {
  const end = line.indexOf(separator);
  return end < 0
    ? { name: line.trim(), value: '' }
    : { name: line.slice(0, end).trim(), value: line.slice(end + 1).trim() };
}

/** The form that creates a connection of any kind. */
export function CreateConnection({ onClose }: DialogProps) {
  const form = useForm({
    boundsOf: 'CreateMcpServer',
    initial: EMPTY,
    send: (values, { idempotencyKey }) => run('CreateMcpServer', { input: inputOf(values) }, { idempotencyKey }),
    onDone: ({ mcpServer, authorizationUrl }) => {
      onClose();
      confirmDone('The MCP connection was created.');
      if (authorizationUrl !== null) return location.assign(authorizationUrl);
      if (mcpServer) goTo(`/mcp-connections/${mcpServer.databaseId}`);
    },
  });
  const { kind } = form.values;
  return (
    <FormDialog title="New MCP connection" submit="Create" form={form} onClose={onClose}>
      <SelectField name="kind" label="Kind" choices={KINDS} />
      {kind === 'STDIO' ? <StdioFields /> : <RemoteFields kind={kind} />}
      <SelectField
        name="visibility"
        label="Who can use it"
        choices={VISIBILITIES}
        help="Connections of the organization are managed by its administrators. This cannot be changed later."
      />
    </FormDialog>
  );
}

const ENV_HELP =
  'One per line, such as NAME=value. The values are encrypted and never shown; the agent gets them elsewhere.';

const StdioFields = () => (
  <>
    <TextField name="stdio.name" label="Name" isRequired />
    <TextField name="stdio.command" label="Command" isRequired placeholder="npx" />
    <TextField name="stdio.args" label="Arguments" rows={3} help="One per line." />
    <TextField name="stdio.env" label="Environment variables" rows={3} help={ENV_HELP} />
  </>
);

function RemoteFields({ kind }: { readonly kind: string }) {
  const isClient = kind === 'CLIENT_CREDENTIALS';
  return (
    <>
      <TextField name="remote.name" label="Name" isRequired />
      <TextField
        name="remote.serverUrl"
        label="Address of the server"
        isRequired
        type="url"
        placeholder="https://mcp.example.com/mcp"
      />
      {kind === 'STATIC_HEADERS' ? (
        <TextField
          name="remote.headers"
          label="Headers"
          isRequired
          rows={3}
          placeholder="Authorization: Bearer …"
          help="One per line, such as Name: value. The values are encrypted and never shown."
        />
      ) : (
        <>
          <TextField
            name="remote.clientId"
            label="Client id"
            isRequired={isClient}
            help={!isClient && 'Only if the server asks for a client that was registered before.'}
          />
          <TextField name="remote.clientSecret" label="Client secret" isRequired={isClient} type="password" />
          <TextField name="remote.scope" label="Scopes" help="Separated by spaces. Empty, the server decides." />
        </>
      )}
    </>
  );
}

interface ConnectionProps extends DialogProps {
  readonly server: Connection;
  readonly onDone: () => void;
}

export function EditConnection({ server, onDone, onClose }: ConnectionProps) {
  const { id, updatedAt } = server;
  const stored = {
    name: server.name,
    serverUrl: server.serverUrl ?? '',
    clientId: server.clientId ?? '',
    scope: server.scope ?? '',
    command: server.command ?? '',
    args: (server.args ?? []).join('\n'),
  };
  const form = useForm({
    boundsOf: 'UpdateMcpServer',
    initial: { ...stored, clientSecret: '', headers: '', env: '' },
    current: { updatedAt, values: { ...stored, clientSecret: '', headers: '', env: '' } },
    onConflict: onDone,
    send: (_, { idempotencyKey, expectedUpdatedAt, changed }) => {
      const { headers = '', env = '', args, ...rest } = changed;
      const texts = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, value || null]));
      const lists = { headers: changesIn(headers, ':'), env: changesIn(env, '=') };
      const input = {
        mcpServerId: id,
        expectedUpdatedAt,
        ...texts,
        ...(args !== undefined && { args: linesOf(args) }),
        ...filled(lists),
      };
      return run('UpdateMcpServer', { input }, { idempotencyKey });
    },
    onDone: () => finish('The MCP connection was changed.', onClose, onDone),
  });
  return (
    <FormDialog title="Edit the MCP connection" submit="Save" form={form} onClose={onClose}>
      <TextField name="name" label="Name" isRequired help="The names of its tools do not change with it." />
      <StoredFields server={server} />
    </FormDialog>
  );
}

/** The fields of the kind of a connection. Secrets are not shown, so these fields take changes only. */
function StoredFields({ server: { type, authType, headerKeys, envKeys } }: { readonly server: Connection }) {
  const keys = type === 'REMOTE' ? headerKeys : envKeys;
  const known = keys.length === 0 ? 'None is stored.' : `Stored: ${keys.join(', ')}.`;
  const change = `${known} Write one per line to set it; a line with a name alone removes it.`;
  if (type !== 'REMOTE')
    return (
      <>
        <TextField name="command" label="Command" isRequired />
        <TextField name="args" label="Arguments" rows={3} help="One per line." />
        <TextField name="env" label="Environment variables" rows={3} help={change} />
      </>
    );
  return (
    <>
      <TextField
        name="serverUrl"
        label="Address of the server"
        isRequired
        type="url"
        help="Another address deletes all credentials."
      />
      {authType === 'STATIC_HEADERS' ? (
        <TextField name="headers" label="Headers" rows={3} help={change} />
      ) : (
        <>
          <TextField name="clientId" label="Client id" help="Another client id ends the authorization." />
          <TextField name="clientSecret" label="New client secret" type="password" />
          <TextField name="scope" label="Scopes" help="Separated by spaces." />
        </>
      )}
    </>
  );
}

const changesIn = (text: string, separator: string) =>
  linesOf(text).map((line) => {
    const { name, value } = namedValue(line, separator);
    return { name, value: value || null };
  });

export function ChangeSettings({ server, onDone, onClose }: ConnectionProps) {
  const values = {
    handle: server.handle,
    reuseHandle: false,
    recordToolCalls: server.recordToolCalls,
    audience: server.audience ?? '',
    resource: server.resource ?? '',
    sendsNoResource: server.resource === '',
    allowMissingPkceMetadata: server.allowMissingPkceMetadata,
  };
  const form = useForm({
    boundsOf: 'UpdateMcpServerSettings',
    initial: values,
    current: { updatedAt: server.updatedAt, values },
    onConflict: onDone,
    send: (given, { idempotencyKey, expectedUpdatedAt, changed }) => {
      const { audience, resource, sendsNoResource, ...others } = changed;
      const isOtherResource = resource !== undefined || sendsNoResource !== undefined;
      const nullable = {
        ...(audience !== undefined && { audience: audience || null }),
        ...(isOtherResource && { resource: given.sendsNoResource ? '' : given.resource || null }),
      };
      const input = { mcpServerId: server.id, expectedUpdatedAt, ...others, ...nullable };
      return run('UpdateMcpServerSettings', { input }, { idempotencyKey });
    },
    onDone: () => finish('The settings were changed.', onClose, onDone),
  });
  return (
    <FormDialog title="Settings of the MCP connection" submit="Save" form={form} onClose={onClose}>
      <TextField
        name="handle"
        label="Handle"
        isRequired
        help={
          <>
            The first part of the names of its tools in a session, such as <code>{form.values.handle}__search</code>.
            Agents that know the old names do not find them any more.
          </>
        }
      />
      {form.values.handle !== server.handle && (
        <CheckField
          name="reuseHandle"
          label="Take it even if another connection had it within 30 days"
          help="Only for administrators. Agents that still call the tools of that connection then call this server."
        />
      )}
      <SelectField
        name="recordToolCalls"
        label="Calls in the events of sessions"
        choices={[
          ['ALL', 'Recorded, with arguments and results'],
          ['NONE', 'Not recorded'],
        ]}
        help="The audit log has all calls, without arguments and results."
      />
      {authorizationFields(server)}
    </FormDialog>
  );
}

/** The settings of connections that get tokens from an authorization server. */
function authorizationFields({ authType }: ConnectionProps['server']) {
  if (authType !== 'OAUTH' && authType !== 'CLIENT_CREDENTIALS') return false;
  return (
    <>
      <TextField name="audience" label="Audience" help="Only for authorization servers that ask for one." />
      <TextField name="resource" label="Resource" help="Only if it differs from the address of the server." />
      <CheckField
        name="sendsNoResource"
        label="Send no resource"
        help="For authorization servers that refuse it, such as Microsoft Entra ID."
      />
      {authType === 'OAUTH' && (
        <CheckField
          name="allowMissingPkceMetadata"
          label="Allow an authorization server that does not announce PKCE"
          help="PKCE is used in any case."
        />
      )}
    </>
  );
}

export function DeleteConnection({ server, onClose }: ConnectionProps) {
  const form = useForm({
    initial: { typed: '' },
    send: (_, { idempotencyKey }) => run('DeleteMcpServer', { id: server.id }, { idempotencyKey }),
    onDone: () => {
      onClose();
      confirmDone(`The MCP connection “${server.name}” was deleted.`);
      goToList('/mcp-connections');
    },
  });
  return (
    <FormDialog
      title="Delete the MCP connection"
      submit="Delete permanently"
      isDanger
      isBlocked={form.values.typed !== server.handle}
      form={form}
      onClose={onClose}
    >
      <p>
        Deleting “{server.name}” deletes its credentials, revokes its tokens, and removes it from all sessions. Agents
        can no longer call its tools. This cannot be undone.
      </p>
      <ConfirmField name="typed" text={server.handle} />
    </FormDialog>
  );
}
