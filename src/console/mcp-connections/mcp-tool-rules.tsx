import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, run } from '../parts/api.ts';
import { Button } from '../parts/button.tsx';
import type { DialogProps } from '../parts/form-button.tsx';
import { ChecksField, SelectField, TextField } from '../parts/form-fields.tsx';
import { FaultText } from '../parts/fault-text.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { useAllPages, useQuery } from '../parts/hooks.ts';
import { finish } from '../parts/notices.tsx';
import { Faults, Loading, Table, personOf } from '../parts/parts.tsx';
import type { Answers, Variables } from '../generated/operation-types.ts';
import type { Connection } from './mcp-connection-types.ts';
import { type Group, rulesIn, textOfRules } from './tool-rules.ts';

/** The form that decides who may use a connection and which of its tools, with a preview of who could call what. */

interface ChooseRulesProps extends DialogProps {
  readonly server: Connection;
  readonly onDone: () => void;
}

export function ChooseRules(props: ChooseRulesProps) {
  const { rows, faults, isLoading, hasMore } = useAllPages(
    'ToolGroups',
    { first: 100 },
    ({ viewer }) => viewer.organization?.groups,
  );
  if (faults.length > 0) return <Faults faults={faults} />;
  if (isLoading || hasMore) return <Loading />;
  return <RulesForm {...props} groups={rows.map(({ id, name }): Group => [id, name])} />;
}

/** The preview of what the form has had, which goes when that is changed. */
interface Shown {
  readonly of: Values;
  readonly variables?: Variables['ToolAccess'];
  readonly fault?: string;
}

interface Values extends Record<string, unknown> {
  readonly mode: 'ALL' | 'GROUPS';
  readonly groupIds: readonly string[];
  readonly rules: string;
  readonly approverGroupIds: readonly string[];
  readonly onToolChange: 'ALLOW' | 'HOLD';
}

function RulesForm({ server, groups, onDone, onClose }: ChooseRulesProps & { readonly groups: readonly Group[] }) {
  const { access, toolRules, approverGroupIds, onToolChange } = server;
  const [shown, show] = useState<Shown>();
  const values: Values = { ...access, rules: textOfRules(toolRules, groups), approverGroupIds, onToolChange };
  const form = useForm<Values, Answers['UpdateMcpServerSettings']>({
    initial: values,
    current: { updatedAt: server.updatedAt, values },
    onConflict: onDone,
    send: (given, { idempotencyKey, expectedUpdatedAt }): Promise<Answer<Answers['UpdateMcpServerSettings']>> => {
      const read = rulesIn(given.rules, groups);
      if ('fault' in read) return Promise.resolve({ data: null, faults: [{ message: read.fault }] });
      const input = {
        mcpServerId: server.id,
        expectedUpdatedAt,
        access: { mode: given.mode, groupIds: given.groupIds },
        toolRules: read.rules,
        approverGroupIds: given.approverGroupIds,
        onToolChange: given.onToolChange,
      };
      return run('UpdateMcpServerSettings', { input }, { idempotencyKey });
    },
    onDone: () => finish('The rules were changed.', onClose, onDone),
  });
  const preview = () => {
    const { mode, groupIds, rules, onToolChange: onChange } = form.values;
    const read = rulesIn(rules, groups);
    const asked = { id: server.id, access: { mode, groupIds }, onToolChange: onChange };
    show({ of: form.values, ...('fault' in read ? read : { variables: { ...asked, toolRules: read.rules } }) });
  };
  return (
    <FormDialog title="Who may use what" submit="Save" form={form} onClose={onClose}>
      <RuleFields isShared={server.visibility === 'SHARED'} isLimited={form.values.mode === 'GROUPS'} groups={groups} />
      <Button onClick={preview}>Show who could call what</Button>
      {shown?.of === form.values &&
        (shown.variables ? <Preview {...shown.variables} /> : <FaultText text={shown.fault} />)}
    </FormDialog>
  );
}

interface FieldsProps {
  readonly isShared: boolean;
  readonly isLimited: boolean;
  readonly groups: readonly Group[];
}

const RuleFields = ({ isShared, isLimited, groups }: FieldsProps) => (
  <>
    {isShared && (
      <SelectField
        name="mode"
        label="Who sees and uses the connection"
        choices={[
          ['ALL', 'Everybody in the organization'],
          ['GROUPS', 'Only these groups'],
        ]}
      />
    )}
    {isLimited && <ChecksField name="groupIds" label="Groups" choices={groups} />}
    <TextField
      name="rules"
      label="Rules"
      rows={6}
      placeholder={'allow read_*\nask * for Writers\ndeny *'}
      help="One for each line: allow, ask or deny, names of tools or beginnings with *, and after “for” the groups it counts for. The first that names a tool decides; without one it is allowed."
    />
    {isShared && (
      <ChecksField
        name="approverGroupIds"
        label="Who decides about calls that ask"
        choices={groups}
        help="With none, administrators."
      />
    )}
    <SelectField
      name="onToolChange"
      label="New and changed tools"
      choices={[
        ['ALLOW', 'Can be called; notices and the feed name the change'],
        ['HOLD', 'Are unknown until somebody accepts them'],
      ]}
    />
  </>
);

function Preview(variables: Variables['ToolAccess']) {
  const { data, faults, isLoading } = useQuery('ToolAccess', variables);
  const rows = data?.mcpServer?.toolAccess ?? [];
  const part = useRef<HTMLDivElement>(null);
  // The form can be longer than the window.
  useEffect(() => part.current?.scrollIntoView(), [data]);
  if (isLoading) return <Loading />;
  return (
    <div ref={part}>
      <Faults faults={faults} />
      <Table
        label="Who could call what"
        head={['Who', 'Calls', 'With approval']}
        rows={rows}
        row={({ accounts, allowed, asked }) => (
          <tr key={JSON.stringify([allowed, asked])}>
            <td class="wide">{accounts.map(personOf).join(', ')}</td>
            <td class="wide">{allowed.join(', ') || 'Nothing'}</td>
            <td class="wide">{asked.join(', ') || 'Nothing'}</td>
          </tr>
        )}
      />
    </div>
  );
}
