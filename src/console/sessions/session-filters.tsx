import { useMemo } from 'preact/hooks';
import { FilterChips } from '../parts/filter-chips.tsx';
import { CheckField, ChoiceField, type useFilter, InputField } from '../parts/filters.tsx';
import { useQuery } from '../parts/hooks.ts';
import { dayFromToday } from '../parts/navigation.ts';
import { wordsOf } from '../parts/parts.tsx';
import { usePeople } from '../members/people.ts';

/** The filters of the sessions that are not always shown, and the values of all of them. */

export type Fields = Readonly<
  Record<
    | 'title'
    | 'state'
    | 'agent'
    | 'model'
    | 'tool'
    | 'failedTool'
    | 'project'
    | 'creator'
    | 'visibility'
    | 'pinned'
    | 'held'
    | 'needs'
    | 'seen'
    | 'from'
    | 'to'
    | 'utc',
    ReturnType<typeof useFilter>
  >
>;
interface FieldsProps {
  readonly fields: Fields;
}

const VISIBLE_TO = [
  ['', 'Anybody'],
  ['PUBLIC', 'The organization'],
  ['PRIVATE', 'Its creator and admins'],
] as const;

/** Models and tools of so many days are offered. */
const OFFERED_DAYS = 90;

function useChoices() {
  const days = useMemo(() => ({ from: dayFromToday(-OFFERED_DAYS), until: dayFromToday(1) }), []);
  const { agents, projects, models, tools } = useQuery('Agents', days).data?.viewer.organization ?? {};
  const named = (rows: readonly { readonly key: string | null }[] = []) =>
    rows.flatMap(({ key }) => (key === null || key === 'other' ? [] : [[key, key] as const]));
  return {
    model: named(models?.rows),
    tool: named(tools?.rows),
    agent: (agents?.nodes ?? []).map(({ name }) => [name, name] as const),
    project: (projects?.nodes ?? []).map(({ databaseId, name }) => [databaseId, name] as const),
    creator: usePeople(),
  };
}

export function SessionFilters({ fields }: FieldsProps) {
  const choices = useChoices();
  const given = (name: keyof Fields) => ({ value: fields[name][0], onChange: fields[name][1] });
  return (
    <div class="filters">
      <ChoiceField label="Agent" {...given('agent')} choices={[['', 'Any'], ...choices.agent]} />
      <ChoiceField label="Model" {...given('model')} choices={[['', 'Any'], ...choices.model]} />
      <ChoiceField label="Tool" {...given('tool')} choices={[['', 'Any'], ...choices.tool]} />
      <ChoiceField label="Failed tool" {...given('failedTool')} choices={[['', 'Any'], ...choices.tool]} />
      <ChoiceField label="Project" {...given('project')} choices={[['', 'Any'], ...choices.project]} />
      <ChoiceField label="Created by" {...given('creator')} choices={[['', 'Anybody'], ...choices.creator]} />
      <ChoiceField label="Visible to" {...given('visibility')} choices={VISIBLE_TO} />
      <InputField label="Created from" type="date" {...given('from')} />
      <InputField label="to" type="date" {...given('to')} />
      <InputField label="Last recorded from" type="date" {...given('seen')} />
      <CheckField label="Pinned" {...given('pinned')} />
      <CheckField label="Held" {...given('held')} />
      <CheckField label="Needs a person" {...given('needs')} />
    </div>
  );
}

/** What is set, each with a button that removes it. */
export function SessionChips({ fields }: FieldsProps) {
  const choices = useChoices();
  const nameIn = (known: readonly (readonly [string, string])[]) => (value: string) =>
    known.find(([each]) => each === value)?.[1] ?? value;
  const day = (value: string) => (fields.utc[0] === '' ? value : `${value} (UTC)`);
  const words: Readonly<Partial<Record<keyof Fields, (value: string) => string>>> = {
    title: (value) => `Title: ${value}`,
    state: (value) => `State: ${wordsOf(value)}`,
    agent: (value) => `Agent: ${value}`,
    model: (value) => `Used the model ${value}`,
    tool: (value) => `Called the tool ${value}`,
    failedTool: (value) => `The tool ${value} has failed`,
    project: (value) => `Project: ${nameIn(choices.project)(value)}`,
    creator: (value) => `Created by: ${nameIn(choices.creator)(value)}`,
    visibility: (value) => `Visible to: ${nameIn(VISIBLE_TO)(value).toLowerCase()}`,
    from: (value) => `Created from ${day(value)}`,
    to: (value) => `Created to ${day(value)}`,
    seen: (value) => `Last recorded from ${day(value)}`,
    pinned: () => 'Pinned',
    held: () => 'Held',
    needs: () => 'Needs a person',
  };
  return <FilterChips fields={fields} words={words} />;
}
