import type { VNode } from 'preact';
import { CheckField, ChoiceField, type useFilter, SearchField } from './filters.ts';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import { usePeople } from './people.ts';

/** The filters of the sessions that are not always shown. */

export type Fields = Readonly<Record<'agent' | 'creator' | 'held' | 'from' | 'to', ReturnType<typeof useFilter>>>;

export function SessionFilters({ fields }: { readonly fields: Fields }): VNode {
  const { data } = useQuery('Agents', {});
  const agents = (data?.viewer.organization?.agents?.nodes ?? []).map(({ name }) => [name, name] as const);
  const people = usePeople();
  const [agent, setAgent] = fields.agent;
  const [creator, setCreator] = fields.creator;
  const [held, setHeld] = fields.held;
  const [from, setFrom] = fields.from;
  const [to, setTo] = fields.to;
  return html`<div class="filters">
    <${ChoiceField} label="Agent" value=${agent} onChange=${setAgent} choices=${[['', 'Any'], ...agents]} />
    <${ChoiceField}
      label="Created by"
      value=${creator}
      onChange=${setCreator}
      choices=${[['', 'Anybody'], ...people]}
    />
    <${SearchField} label="Created from" type="date" value=${from} onChange=${setFrom} />
    <${SearchField} label="to" type="date" value=${to} onChange=${setTo} />
    <${CheckField} label="Held" value=${held} onChange=${setHeld} />
  </div>`;
}
