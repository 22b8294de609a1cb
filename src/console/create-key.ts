import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { run } from './api.ts';
import { ChoiceField } from './filters.ts';
import { refusalOf } from './hooks.ts';
import { html, valueOf } from './html.ts';
import type { Variables } from './operation-types.ts';
import { Secret } from './parts.ts';

type ScopeName = Variables['CreateApiKey']['input']['scopes'][number];

const DAY_MS = 86_400_000;
const EXPIRIES = [
  ['', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
] as const;
const PLACES = [
  ['', 'This organization'],
  ['all', 'All my organizations'],
] as const;

interface CreateKeyProps {
  /** The scopes of the calling key, because a key cannot create a stronger one. */
  readonly scopes: readonly ScopeName[];
  readonly onCreated: () => void;
}

export function CreateKey({ scopes, onCreated }: CreateKeyProps): VNode {
  const [name, setName] = useState('');
  const [days, setDays] = useState('');
  const [place, setPlace] = useState('');
  const [left, setLeft] = useState<ReadonlySet<ScopeName>>(new Set());
  const [made, setMade] = useState<string>();
  const [fault, setFault] = useState<string>();
  const chosen = scopes.filter((scope) => !left.has(scope));
  const submit = async (event: Event) => {
    event.preventDefault();
    const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
    const input = { name, scopes: chosen, expiresAt, allOrganizations: place === 'all' };
    const { data, faults } = await run('CreateApiKey', { input });
    const result = data?.createApiKey;
    if (result?.__typename === 'CreateApiKeyPayload') {
      setMade(result.key);
      setName('');
      onCreated();
    }
    setFault(refusalOf(result, faults));
  };
  const toggle = (scope: ScopeName) => {
    const next = new Set(left);
    if (!next.delete(scope)) next.add(scope);
    setLeft(next);
  };
  return html`<section class="panel" aria-labelledby="new-key">
    <h2 id="new-key">New key</h2>
    <form onSubmit=${submit}>
      <div class="filters">
        <label>Name <input required value=${name} onInput=${(event: Event) => setName(valueOf(event))} /></label>
        <${ChoiceField} label="Valid in" value=${place} onChange=${setPlace} choices=${PLACES} />
        <${ChoiceField} label="Expires" value=${days} onChange=${setDays} choices=${EXPIRIES} />
        <button class="button small" disabled=${chosen.length === 0}>Create key</button>
      </div>
      <details class="scopes">
        <summary>Scopes: ${chosen.length} of the ${scopes.length} of your own key</summary>
        <fieldset>
          <legend class="visually-hidden">Scopes</legend>
          ${scopes.map(
            (scope) =>
              html`<label key=${scope} class="check"
                ><input type="checkbox" checked=${!left.has(scope)} onChange=${() => toggle(scope)} /><code
                  >${scope.toLowerCase()}</code
                ></label
              >`,
          )}
        </fieldset>
      </details>
    </form>
    ${fault !== undefined && html`<p class="fault" role="alert">${fault}</p>`}
    ${made !== undefined && html`<${Secret} label="The new key." value=${made} />`}
  </section>`;
}
