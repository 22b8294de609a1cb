import { useState } from 'preact/hooks';
import { run } from '../parts/api.ts';
import { type Bar, BarPlot } from '../parts/bar-plot.tsx';
import { CheckField, useFilter } from '../parts/filters.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { type Pages, mutate, refusalOf, useFollowing, usePages, useQuery } from '../parts/hooks.ts';
import { goToList } from '../parts/navigation.ts';
import { confirmDone } from '../parts/notices.tsx';
import type { Answers } from '../generated/operation-types.ts';
import {
  Action,
  Badge,
  type Fact,
  Facts,
  Faults,
  List,
  PageFrame,
  Secret,
  Time,
  wordsOf,
  Missing,
  TimeCell,
} from '../parts/parts.tsx';
import { type Webhook, typesOf } from './webhook-types.ts';
import { DisabledNotice, WebhookState } from './webhooks-page.tsx';
import { EditWebhook, ReplayWebhook } from './webhook-forms.tsx';

type Delivery = NonNullable<Answers['WebhookDeliveries']['webhook']>['deliveries']['nodes'][number];

/** A message that waits is sent within a second or two. */
const WAITING_MS = 2_000;

export function WebhookPage({ id }: { readonly id: string }) {
  const query = useQuery('Webhook', { id });
  const { data, faults, reload } = query;
  const [failed, setFailed] = useFilter('failed');
  const variables = { id, first: 50, filter: failed === '' ? {} : FAILED };
  const log = usePages('WebhookDeliveries', variables, ({ webhook }) => webhook?.deliveries);
  const [secret, setSecret] = useState<string>();
  const isWaiting = log.rows.some(({ state }) => state === 'QUEUED') || isDue(data?.webhook);
  const refresh: typeof reload = (how) => {
    reload(how);
    log.reload(how);
  };
  useFollowing(refresh, query.isLoading || log.isLoading, isWaiting ? WAITING_MS : undefined);
  const webhook = data?.webhook;
  if (!webhook) {
    return (
      <Missing title="Webhook" query={query}>
        There is no such webhook. <a href="/webhooks">All webhooks</a>
      </Missing>
    );
  }
  const actions = <Actions webhook={webhook} onDone={refresh} onSecret={setSecret} />;
  return (
    <PageFrame title="Webhook" intro={webhook.url} actions={actions}>
      <Faults faults={faults} />
      {secret !== undefined && (
        <Secret label="The new secret. The previous one signs too for 24 hours." value={secret} />
      )}
      <DisabledNotice webhooks={[webhook]} isOne />
      <Facts facts={factsOf(webhook)} />
      <div class="section-head">
        <div>
          <h2>Deliveries</h2>
          <p class="soft">{shownWords(log)} Each is kept for 30 days.</p>
        </div>
        <CheckField label="Failed only" value={failed} onChange={setFailed} />
      </div>
      {failed === '' && log.rows.length > 1 && <DeliveryPlot deliveries={log.rows} />}
      <Log
        webhook={webhook}
        list={log}
        empty={failed === '' ? 'Nothing was sent yet. Send a ping to try it.' : 'None has failed.'}
        onDone={refresh}
      />
    </PageFrame>
  );
}

const FAILED = { states: ['FAILED'] } as const;

const shownWords = ({ rows, hasMore }: Pages<Delivery>): string =>
  hasMore ? `The latest ${rows.length} are shown.` : 'All are shown.';

/** Whether a try of a failing webhook is due. */
const isDue = (webhook: Webhook | null | undefined) =>
  webhook?.isEnabled === true && webhook.attempts > 0 && webhook.nextAttemptAt === null;

function factsOf(webhook: Webhook): readonly Fact[] {
  const { previousSecretExpiresAt, cursor, createdAt } = webhook;
  return [
    ['State', <WebhookState webhook={webhook} />],
    ['Gets', typesOf(webhook)],
    ['Last entry', `${cursor}`],
    ['Previous secret signs until', previousSecretExpiresAt && <Time at={previousSecretExpiresAt} />],
    ['Created', <Time at={createdAt} />],
  ];
}

interface ActionsProps {
  readonly webhook: Webhook;
  readonly onDone: () => void;
  readonly onSecret: (secret: string) => void;
}

function Actions({ webhook, onDone, onSecret }: ActionsProps) {
  const { id, isEnabled, nextAttemptAt } = webhook;
  const forms = { webhook, onDone };
  const enable = () => mutate('UpdateWebhook', { input: { webhookId: id, isEnabled: !isEnabled } }, onDone);
  const ping = () => mutate('PingWebhook', { id }, onDone);
  const tryNow = () => mutate('TryWebhookNow', { id }, onDone);
  const rotate = async () => {
    const { data, faults } = await run('RotateWebhookSecret', { id });
    const result = data?.rotateWebhookSecret;
    if (result?.__typename === 'RotateWebhookSecretPayload') onSecret(result.secret);
    onDone();
    return refusalOf(result, faults);
  };
  const remove = async () => {
    const { data, faults } = await run('DeleteWebhook', { id });
    const refusal = refusalOf(data?.deleteWebhook, faults);
    if (refusal === undefined) {
      confirmDone('The webhook was deleted.');
      goToList('/webhooks');
    }
    return refusal;
  };
  return (
    <>
      {!isEnabled && <Action label="Enable" isPlain={false} run={enable} />}
      {isEnabled && nextAttemptAt !== null && <Action label="Try now" isPlain={false} run={tryNow} />}
      <Action label="Send a ping" isPlain={!isEnabled || nextAttemptAt !== null} run={ping} />
      <FormButton label="Edit" dialog={EditWebhook} props={forms} />
      <FormButton label="Replay" dialog={ReplayWebhook} props={forms} />
      {isEnabled && (
        <Action
          label="Disable"
          confirm="Disable this webhook? It gets nothing until it is enabled again."
          run={enable}
        />
      )}
      <Action
        label="Rotate the secret"
        confirm="Make a new secret? The present one signs too for 24 hours; an older one no longer does."
        run={rotate}
      />
      <Action label="Delete" confirm="Delete this webhook with its log? Nothing is sent to it any more." run={remove} />
    </>
  );
}

const at = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

/** The loaded deliveries as bars, oldest first: how long each took, and whether it failed. */
function DeliveryPlot({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  const sent = deliveries.filter(({ state }) => state !== 'QUEUED').toReversed();
  const bars = sent.map(({ state, status, error, durationMs, createdAt }): Bar => {
    const answer = error ?? `${status}`;
    const isFailed = state === 'FAILED';
    return {
      name: at.format(new Date(createdAt)),
      words: `${at.format(new Date(createdAt))}: ${answer} in ${durationMs ?? 0} ms`,
      parts: [isFailed ? 0 : (durationMs ?? 0), isFailed ? Math.max(1, durationMs ?? 0) : 0],
      cells: [wordsOf(state), answer, `${durationMs ?? 0} ms`],
    };
  });
  const failed = sent.filter(({ state }) => state === 'FAILED').length;
  return (
    <BarPlot
      label="Latest deliveries"
      bars={bars}
      parts={DELIVERY_PARTS}
      format={(ms: number) => `${Number((ms / 1000).toFixed(2))} s`}
      summary={`${failed} of the ${sent.length} that are shown have failed`}
      head={['When', 'State', 'Answer', 'Took']}
    />
  );
}
const DELIVERY_PARTS = [
  ['Delivered', 'good'],
  ['Failed', 'bad'],
] as const;

interface LogProps {
  readonly webhook: Webhook;
  readonly list: Pages<Delivery>;
  readonly empty: string;
  readonly onDone: () => void;
}

function Log({ webhook, list, empty, onDone }: LogProps) {
  const row = (delivery: Delivery) => {
    const again = () => mutate('RedeliverWebhook', { id: webhook.id, deliveryId: delivery.id }, onDone);
    return (
      <tr key={delivery.id}>
        <td class="wrap">
          <code>{delivery.type}</code>
          <div class="soft">
            {wordsOf(delivery.kind)}
            {delivery.feedEntryId !== null && ` ${delivery.feedEntryId}`}
            {delivery.attempt > 1 && `, try ${delivery.attempt}`}
          </div>
        </td>
        <td>
          <Badge value={delivery.state} />
        </td>
        <td class="wide">
          <ResultOf delivery={delivery} />
        </td>
        <TimeCell at={delivery.createdAt} />
        <td class="end">{delivery.state !== 'QUEUED' && <Action label="Send again" run={again} />}</td>
      </tr>
    );
  };
  return (
    <List label="Deliveries" list={list} row={row} empty={empty} head={['Message', 'State', 'Answer', 'When', '']} />
  );
}

function ResultOf({ delivery }: { readonly delivery: Delivery }) {
  const { status, error, answer, durationMs } = delivery;
  if (error !== null) return <span>{error}</span>;
  if (status === null) return <span class="soft">waits</span>;
  const summary = (
    <>
      {status} <span class="soft">in {durationMs} ms</span>
    </>
  );
  if (!answer) return <span>{summary}</span>;
  return (
    <details>
      <summary>{summary}</summary>
      <pre tabindex={0} dir="auto">
        {answer}
      </pre>
    </details>
  );
}
