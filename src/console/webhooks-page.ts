import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useAdministration, useScope } from './caller.ts';
import { FormButton } from './form-button.ts';
import { usePages } from './hooks.ts';
import { html } from './html.ts';
import { Badge, Empty, List, PageFrame, Secret, Time } from './parts.ts';
import { type Webhook, typesOf } from './webhook-types.ts';

const CREATE = async () => (await import('./webhook-forms.ts')).CreateWebhook;

/** How the deliveries of a webhook go, in words. */
export function WebhookState({ webhook }: { readonly webhook: Webhook }): VNode {
  const { isEnabled, disabledAt, disabledReason, failingSince, nextAttemptAt, disableAfter, lastDeliveredAt } = webhook;
  if (!isEnabled)
    return html`<div>
      <${Badge} value="DISABLED" />
      <div class="soft"><${Time} at=${disabledAt} />${disabledReason && `: ${REASONS[disabledReason]}`}</div>
    </div>`;
  if (failingSince !== null)
    return html`<div>
      <${Badge} value="FAILING" />
      <div class="soft">
        since${' '}<${Time}
          at=${failingSince}
        />${nextAttemptAt && html`; next try <${Time} at=${nextAttemptAt} />`}${disableAfter && html`; disabled after <${Time} at=${disableAfter} />`}
      </div>
    </div>`;
  const last = lastDeliveredAt ? html`last <${Time} at=${lastDeliveredAt} />` : 'nothing delivered yet';
  return html`<div>
    <${Badge} value="DELIVERING" />
    <div class="soft">${last}</div>
  </div>`;
}

const REASONS: Readonly<Record<NonNullable<Webhook['disabledReason']>, string>> = {
  REQUESTED: 'an administrator disabled it.',
  GONE: 'it answered 410, which means that nobody is there any more.',
  FAILING: 'all its deliveries of 5 days failed.',
};

/** Shown where a webhook stopped by itself, or will stop. */
export function DisabledNotice({ webhooks }: { readonly webhooks: readonly Webhook[] }): VNode | null {
  const stopped = webhooks.filter(({ isEnabled, disabledReason }) => !isEnabled && disabledReason !== 'REQUESTED');
  const stopping = webhooks.filter(({ isEnabled, disableAfter }) => isEnabled && disableAfter !== null);
  if (stopped.length + stopping.length === 0) return null;
  return html`<div class="notice" role="status">
    ${stopping.map(
      ({ id, url, disableAfter }) =>
        html`<p key=${id}>
          All deliveries to ${url} fail. It will be disabled after <${Time} at=${disableAfter} />, unless one succeeds.
          Repair the receiver, then choose "Try now" on the page of the webhook.
        </p>`,
    )}
    ${stopped.length > 0 && html`<${Stopped} count=${stopped.length} />`}
  </div>`;
}

function Stopped({ count }: { readonly count: number }): VNode {
  return html`<p>
    ${count === 1 ? 'A webhook was disabled and gets' : `${count} webhooks were disabled and get`} no more messages.
    Read the log, repair the receiver, and enable it again: it gets what was added meanwhile.
  </p>`;
}

export function WebhooksPage(): VNode {
  const isAdministrator = useAdministration();
  const mayCreate = useScope('WEBHOOKS_WRITE') && isAdministrator;
  const [secret, setSecret] = useState<string>();
  const list = usePages('Webhooks', { first: 50 }, ({ viewer }) => viewer.organization?.webhooks);
  const created = (made: string) => {
    setSecret(made);
    list.reload();
  };
  const row = (webhook: Webhook) =>
    html`<tr key=${webhook.id}>
      <td class="wide">
        <a href=${`/webhooks/${webhook.databaseId}`}>${webhook.url}</a>
        <div class="soft">${typesOf(webhook)}</div>
      </td>
      <td class="wide"><${WebhookState} webhook=${webhook} /></td>
    </tr>`;
  return html`<${PageFrame}
    title="Webhooks"
    intro="Addresses that get the changes of this organization as they happen, as signed messages."
    actions=${mayCreate && html`<${FormButton} label="New webhook" isPlain=${false} load=${CREATE} props=${{ onCreated: created }} />`}
  >
    ${secret !== undefined && html`<${Secret} label="The secret of the signatures." value=${secret} />`}
    <${DisabledNotice} webhooks=${list.rows} />
    <${List}
      label="Webhooks"
      list=${list}
      row=${row}
      empty=${html`<${Empty}>No webhooks yet. Create one to get signed messages about finished sessions, connections and other changes.<//>`}
      head=${['Webhook', 'State']}
    />
  <//>`;
}
