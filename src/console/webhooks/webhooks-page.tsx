import { useState } from 'preact/hooks';
import { useAdministration, useScope } from '../parts/caller.ts';
import { FormButton } from '../parts/form-button.tsx';
import { usePages } from '../parts/hooks.ts';
import { Badge, List, PageFrame, Secret, Time } from '../parts/parts.tsx';
import { shortTime } from '../parts/time.tsx';
import { type Webhook, typesOf } from './webhook-types.ts';
import { CreateWebhook } from './webhook-forms.tsx';

const moment = (at: string) => shortTime(new Date(at), new Date());

/** How the deliveries of a webhook go, in words. */
export function WebhookState({ webhook }: { readonly webhook: Webhook }) {
  const { isEnabled, disabledAt, disabledReason, failingSince, nextAttemptAt, lastDeliveredAt } = webhook;
  if (!isEnabled)
    return (
      <>
        <Badge value="DISABLED" />{' '}
        <span class="soft" title={disabledReason ? REASONS[disabledReason] : undefined}>
          <Time at={disabledAt} isShort />
          {disabledReason && `: ${REASONS[disabledReason]}`}
        </span>
      </>
    );
  if (failingSince !== null)
    return (
      <>
        <Badge value="FAILING" />{' '}
        <span
          class="soft"
          title={`first ${moment(failingSince)}${nextAttemptAt ? `, next try ${moment(nextAttemptAt)}` : ''}`}
        >
          first <Time at={failingSince} isShort />
          {nextAttemptAt && ', next try '}
          {nextAttemptAt && <Time at={nextAttemptAt} isShort />}
        </span>
      </>
    );
  return (
    <>
      <Badge value={lastDeliveredAt ? 'DELIVERING' : 'WAITING'} />{' '}
      <span class="soft">
        {lastDeliveredAt ? 'last ' : 'nothing delivered yet'}
        {lastDeliveredAt && <Time at={lastDeliveredAt} isShort />}
      </span>
    </>
  );
}

const REASONS: Readonly<Record<NonNullable<Webhook['disabledReason']>, string>> = {
  REQUESTED: 'an administrator disabled it.',
  GONE: 'it answered 410, which means that nobody is there any more.',
  FAILING: 'all its deliveries of 5 days failed.',
};

interface NoticeProps {
  readonly webhooks: readonly Webhook[];
  /** Whether the notice is on the page of that one webhook. */
  readonly isOne?: boolean;
}

/** Shown where a webhook stopped by itself, or will stop. */
export function DisabledNotice({ webhooks, isOne = false }: NoticeProps) {
  const stopped = webhooks.filter(({ isEnabled, disabledReason }) => !isEnabled && disabledReason !== 'REQUESTED');
  const stopping = webhooks.filter(({ isEnabled, disableAfter }) => isEnabled && disableAfter !== null);
  if (stopped.length + stopping.length === 0) return null;
  return (
    <div class="notice" role="status">
      {stopping.map(({ id, url, disableAfter }) => (
        <p key={id}>
          All deliveries to {url} fail. It will be disabled after <Time at={disableAfter} />, unless one succeeds.
          Repair the receiver, then choose "Try now" on the page of the webhook.
        </p>
      ))}
      {stopped.length > 0 && (
        <p>
          {stopped.length > 1
            ? `${stopped.length} webhooks were disabled and get`
            : `${isOne ? 'The' : 'A'} webhook was disabled and gets`}{' '}
          no more messages. Read the log, repair the receiver, and enable it again: it gets what was added meanwhile.
        </p>
      )}
    </div>
  );
}

export function WebhooksPage() {
  const isAdministrator = useAdministration();
  const mayCreate = useScope('WEBHOOKS_WRITE') && isAdministrator;
  const [secret, setSecret] = useState<string>();
  const list = usePages('Webhooks', { first: 50 }, ({ viewer }) => viewer.organization?.webhooks);
  const created = (made: string) => {
    setSecret(made);
    list.reload();
  };
  const row = (webhook: Webhook) => (
    <tr key={webhook.id}>
      <td class="wide" title={webhook.url}>
        <div class="line">
          <a href={`/webhooks/${webhook.databaseId}`}>{webhook.url}</a>
        </div>
      </td>
      <td class="second minor" title={typesOf(webhook)}>
        {typesOf(webhook)}
      </td>
      <td class="second">
        <WebhookState webhook={webhook} />
      </td>
    </tr>
  );
  return (
    <PageFrame
      title="Webhooks"
      intro="Addresses that get the changes of this organization as they happen, as signed messages."
      actions={
        mayCreate && (
          <FormButton label="New webhook" isPlain={false} dialog={CreateWebhook} props={{ onCreated: created }} />
        )
      }
    >
      {secret !== undefined && <Secret label="The secret of the signatures." value={secret} />}
      <DisabledNotice webhooks={list.rows} />
      <List
        label="Webhooks"
        list={list}
        row={row}
        empty="No webhooks yet. Create one to get signed messages about finished sessions, connections and other changes."
        head={['Webhook', 'Changes', 'State']}
        isDense
      />
    </PageFrame>
  );
}
