import { type ComponentType, Fragment } from 'preact';
import { run } from '../parts/api.ts';
import { FormButton } from '../parts/form-button.tsx';
import { mutate, refusalOf } from '../parts/hooks.ts';
import type { Content } from '../parts/markup.ts';
import type { Connection } from './mcp-connection-types.ts';
import { Action } from '../parts/parts.tsx';
import type { Answers } from '../generated/operation-types.ts';
import { CreateConnection, EditConnection, ChangeSettings, DeleteConnection } from './mcp-connection-forms.tsx';

/** The states of MCP connections in words, and the buttons that create, authorize, test, change and delete them. */

type Row = NonNullable<NonNullable<Answers['McpServers']['viewer']['organization']>['mcpServers']>['nodes'][number];

/** What each status means. */
export const STATUS_TEXTS: Readonly<Record<Row['status'], string>> = {
  STORED: 'The command is stored. The program of the agent starts it; the gateway never does.',
  PENDING_AUTHORIZATION: 'A person has begun to authorize the connection, and has not finished.',
  CONNECTED: 'The server accepts the credentials. Agents can use its tools.',
  AUTHORIZATION_REQUIRED: 'A person must authorize the connection before agents can use it.',
  UNREACHABLE: 'The server could not be reached. It is tried again with the next use.',
  MISCONFIGURED: 'The server refuses the configuration, which must be corrected.',
};

export const NEXT_STEPS: Readonly<Record<Row['nextAction'], string>> = {
  NONE: 'Nothing',
  COMPLETE_AUTHORIZATION: 'Complete the authorization',
  AUTHORIZE: 'Authorize it',
  TEST: 'Test it',
  UPDATE: 'Correct its configuration',
};

/** The label of the authorization button. */
const LABELS: Readonly<Record<string, string>> = {
  COMPLETE_AUTHORIZATION: 'Continue authorization',
  AUTHORIZE: 'Authorize',
};

export const VISIBLE_TO: Readonly<Record<Row['visibility'], string>> = {
  SHARED: 'The organization',
  PERSONAL: 'Its owner',
};

interface ActionsProps {
  readonly server: Pick<Row, 'id' | 'type' | 'authType' | 'issuer' | 'nextAction' | 'viewerCanAuthorize'>;
  readonly onDone: () => void;
  /** Around all but the next step. */
  readonly rest?: ComponentType<{ readonly children: Content }>;
}

export function ConnectionActions({ server, onDone, rest: Rest = Fragment }: ActionsProps) {
  const authorize = async () => {
    const { data, faults } = await run('AuthorizeMcpServer', { id: server.id });
    const result = data?.authorizeMcpServer;
    if (result?.__typename === 'AuthorizeMcpServerPayload' && result.authorizationUrl !== null)
      location.assign(result.authorizationUrl);
    onDone();
    return refusalOf(result, faults);
  };
  const test = () => mutate('TestMcpServer', { id: server.id }, onDone);
  const isNext = server.nextAction in LABELS;
  const authorization = server.viewerCanAuthorize && server.authType === 'OAUTH' && (
    <Action
      label={LABELS[server.nextAction] ?? (server.issuer === null ? 'Authorize' : 'Authorize again')}
      isPlain={!isNext}
      run={authorize}
    />
  );
  return (
    <>
      {isNext && authorization}
      <Rest>
        {server.type === 'REMOTE' && <Action label="Test" isPlain={isNext} run={test} />}
        {/* An open server, or one that is authorized, needs it seldom. */}
        {!isNext && authorization}
      </Rest>
    </>
  );
}

/** The button and form that create a connection. */
export const CreateConnectionButton = () => (
  <FormButton label="New MCP connection" isPlain={false} dialog={CreateConnection} props={{}} />
);

interface FormsProps {
  readonly server: Connection;
  readonly onDone: () => void;
}

/** The buttons and forms that change and delete a connection. */
export function ConnectionForms(props: FormsProps) {
  const { viewerCanUpdate, viewerCanDelete } = props.server;
  return (
    <>
      {viewerCanUpdate && (
        <>
          <FormButton label="Edit" dialog={EditConnection} props={props} />
          <FormButton label="Settings" dialog={ChangeSettings} props={props} />
        </>
      )}
      {viewerCanDelete && <FormButton label="Delete…" dialog={DeleteConnection} props={props} />}
    </>
  );
}
