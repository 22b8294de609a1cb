import { run } from '../parts/api.ts';
import type { DialogProps } from '../parts/form-button.tsx';
import { CheckField, SelectField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import type { Connection, Tool } from './mcp-connection-types.ts';
import { finish } from '../parts/notices.tsx';

/** The form that chooses which tools of a connection can be used. */

interface ChooseToolsProps extends DialogProps {
  readonly server: Connection;
  readonly tools: readonly Tool[];
  readonly onDone: () => void;
}

export function ChooseTools({ server, tools, onDone, onClose }: ChooseToolsProps) {
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
    onDone: () => finish('The allowed tools were changed.', onClose, onDone),
  });
  return (
    <FormDialog title="Choose allowed tools" submit="Save" form={form} onClose={onClose}>
      <SelectField
        name="mode"
        label="Tools that agents can use"
        choices={[
          ['ALL', 'All, also those that the server adds later'],
          ['ONLY', 'Only those chosen below'],
        ]}
        help="Other tools are neither listed nor called, whatever an agent sends."
      />
      {form.values['mode'] === 'ONLY' &&
        all.map((name) => <CheckField key={name} name={`tool ${name}`} label={<code class="name">{name}</code>} />)}
    </FormDialog>
  );
}
