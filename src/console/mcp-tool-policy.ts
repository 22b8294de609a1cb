import type { VNode } from 'preact';
import { run } from './api.ts';
import type { DialogProps } from './form-button.ts';
import { CheckField, SelectField } from './form-fields.ts';
import { FormDialog, useForm } from './form.ts';
import { html } from './html.ts';
import type { Connection, Tool } from './mcp-connection-types.ts';
import { confirmDone } from './notices.ts';

/** The form that chooses which tools of a connection can be used. */

interface ChooseToolsProps extends DialogProps {
  readonly server: Connection;
  readonly tools: readonly Tool[];
  readonly onDone: () => void;
}

export function ChooseTools({ server, tools, onDone, onClose }: ChooseToolsProps): VNode {
  const { mode, names } = server.toolPolicy;
  // Tools that the server no longer has stay in the list.
  const all = [...new Set([...tools.map(({ name }) => name), ...names])];
  const values: Record<string, unknown> = {
    mode,
    ...Object.fromEntries(all.map((name) => [`tool ${name}`, mode === 'ALL' || names.includes(name)])),
  };
  const form = useForm({
    initial: values,
    current: { updatedAt: server.updatedAt, values },
    onConflict: onDone,
    send: (given, { idempotencyKey, expectedUpdatedAt }) => {
      const isOnly = given['mode'] === 'ONLY';
      const toolPolicy = {
        mode: isOnly ? ('ONLY' as const) : ('ALL' as const),
        names: isOnly ? all.filter((name) => given[`tool ${name}`] === true) : [],
      };
      const input = { mcpServerId: server.id, expectedUpdatedAt, toolPolicy };
      return run('UpdateMcpServerSettings', { input }, { idempotencyKey });
    },
    onDone: () => {
      onClose();
      onDone();
      confirmDone('The allowed tools were changed.');
    },
  });
  return html`<${FormDialog} title="Choose allowed tools" submit="Save" form=${form} onClose=${onClose}>
    <${SelectField}
      name="mode"
      label="Tools that agents can use"
      choices=${[
        ['ALL', 'All, also those that the server adds later'],
        ['ONLY', 'Only those chosen below'],
      ]}
      help="Other tools are neither listed nor called, whatever an agent sends."
    />
    ${form.values['mode'] === 'ONLY' && all.map((name) => html`<${CheckField} key=${name} name=${`tool ${name}`} label=${html`<code class="name">${name}</code>`} />`)}
  <//>`;
}
