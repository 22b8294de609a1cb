import { mutate } from '../parts/hooks.ts';
import { withoutInvisible } from '../parts/markup.ts';
import { Action, Badge } from '../parts/parts.tsx';
import type { Connection, Tool } from './mcp-connection-types.ts';

interface ToolChangeProps {
  readonly server: Connection;
  readonly tool: Tool;
  readonly onDone: () => void;
}

/** What a server says of a tool now, beside what was accepted of it. */
export function ToolChange({ server, tool: { name, definition }, onDone }: ToolChangeProps) {
  const { state, current, accepted } = definition;
  if (state === 'ACCEPTED') return null;
  const accept = () => mutate('AcceptToolDefinitions', { input: { mcpServerId: server.id, names: [name] } }, onDone);
  return (
    <details>
      <summary>
        <Badge value={state} /> What the server says has not been accepted
      </summary>
      <div class="panels">
        {[['Accepted', accepted] as const, ['Now', current] as const].map(([title, shown]) => (
          <div key={title}>
            <strong>{title}</strong>
            <pre tabindex={0}>{shown === null ? 'Nothing' : withoutInvisible(JSON.stringify(shown, null, 2))}</pre>
          </div>
        ))}
      </div>
      {server.viewerCanUpdate && <Action label="Accept" run={accept} />}
    </details>
  );
}
