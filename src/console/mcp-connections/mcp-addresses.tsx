import { clientNameOf } from './client-names.ts';
import { Copyable } from '../parts/copyable.tsx';
import type { Connection } from './mcp-connection-types.ts';

/** The address of a connection for MCP clients, and the configuration of common ones. */

/** The configuration of each client, which asks for a sign-in in the browser when it connects. */
function signInsOf(name: string, url: string): readonly (readonly [client: string, where: string, text: string])[] {
  const asJson = (value: object) => JSON.stringify(value, null, 2);
  return [
    ['Claude.ai', 'Settings, Connectors, Add custom connector', url],
    ['ChatGPT', 'Settings, Apps & Connectors, Create', url],
    ['Claude Code', 'command, then /mcp', `claude mcp add --transport http ${name} ${url}`],
    ['Codex', 'commands', `codex mcp add ${name} --url ${url}\ncodex mcp login ${name}`],
    ['Cursor', '.cursor/mcp.json', asJson({ mcpServers: { [name]: { url } } })],
    ['VS Code', '.vscode/mcp.json', asJson({ servers: { [name]: { type: 'http', url } } })],
    ['Gemini CLI', '~/.gemini/settings.json, then /mcp auth', asJson({ mcpServers: { [name]: { httpUrl: url } } })],
    ['Other clients', 'transport Streamable HTTP', url],
  ];
}

/** The configuration of each client, with the key where the client reads it from. */
function configurationsOf(
  name: string,
  url: string,
): readonly (readonly [client: string, where: string, text: string])[] {
  const asJson = (value: object) => JSON.stringify(value, null, 2);
  const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
  return [
    [
      'Claude Code',
      'command',
      `claude mcp add --transport http ${name} ${url} --header "Authorization: Bearer $GATEWAY_KEY"`,
    ],
    ['Codex', '~/.codex/config.toml', `[mcp_servers.${name}]\nurl = "${url}"\nbearer_token_env_var = "GATEWAY_KEY"`],
    ['Cursor', '.cursor/mcp.json', asJson({ mcpServers: { [name]: { url, headers: bearer('${env:GATEWAY_KEY}') } } })],
    [
      'VS Code',
      '.vscode/mcp.json',
      asJson({
        inputs: [{ type: 'promptString', id: 'gateway-key', description: 'API key of the gateway', password: true }],
        servers: { [name]: { type: 'http', url, headers: bearer('${input:gateway-key}') } },
      }),
    ],
    [
      'Gemini CLI',
      '~/.gemini/settings.json',
      asJson({ mcpServers: { [name]: { httpUrl: url, headers: bearer('$GATEWAY_KEY') } } }),
    ],
    ['Other clients', 'transport Streamable HTTP', `${url}\nAuthorization: Bearer KEY`],
  ];
}

export function Addresses({ server }: { readonly server: Connection }) {
  const url = `${location.origin}/v1/mcp-connections/${server.databaseId}/mcp`;
  const name = clientNameOf(server.handle);
  return (
    <>
      <h2>Use it in a client</h2>
      <p class="soft">
        Every MCP client that speaks Streamable HTTP can use the connection. It opens the browser, where you consent;
        the apps that you have connected are on the page of your <a href="/profile">profile</a>.
      </p>
      <Copyable text={url} />
      <div class="folds-list">{signInsOf(name, url).map(configuration)}</div>
      <h3>With an API key</h3>
      <p class="soft">
        For programs, and clients without sign-in: a key with the scope <code>mcp_connections.use</code>. Create a key
        for each of them under <a href="/api-keys">API keys</a>.
      </p>
      <div class="folds-list">{configurationsOf(name, url).map(configuration)}</div>
    </>
  );
}

const configuration = ([client, where, text]: readonly [client: string, where: string, text: string]) => (
  <details key={client}>
    <summary>
      {client} <span class="soft">({where})</span>
    </summary>
    <Copyable text={text} />
  </details>
);

/** The lines with which each client starts the stored command itself. The values of its environment are secrets. */
export function CommandLines({ server: { handle, command, args, envKeys } }: { readonly server: Connection }) {
  const name = clientNameOf(handle);
  const words = [command ?? '', ...(args ?? [])];
  const line = words
    .map((word) => (/^[\w./:@=,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
  const options = (flag: string) => envKeys.map((key) => `${flag} ${key}="$${key}" `).join('');
  const env = Object.fromEntries(envKeys.map((key) => [key, '…']));
  const started = { command, ...(args?.length && { args }), ...(envKeys.length > 0 && { env }) };
  const asJson = (key: string) => JSON.stringify({ [key]: { [name]: started } }, null, 2);
  return (
    <>
      <h2>Use it in a client</h2>
      <p class="soft">
        A stored command tells everybody how the same server is started, and sessions can name it. The client of each
        person starts it on their own machine with these lines, and with their own values of its environment; the
        gateway never does, and records none of its calls.
      </p>
      <Copyable text={line} />
      <div class="folds-list">
        {(
          [
            ['Claude Code', 'command', `claude mcp add ${name} ${options('-e')}-- ${line}`],
            ['Codex', 'command', `codex mcp add ${name} ${options('--env')}-- ${line}`],
            ['Cursor', '.cursor/mcp.json', asJson('mcpServers')],
            ['VS Code', '.vscode/mcp.json', asJson('servers')],
            ['Gemini CLI', '~/.gemini/settings.json', asJson('mcpServers')],
          ] as const
        ).map(configuration)}
      </div>
    </>
  );
}
