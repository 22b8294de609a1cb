import { type Left, budget } from '../parts/api.ts';
import { useQuery } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Counts, Faults, Loading, PageFrame, Time, wordsOf } from '../parts/parts.tsx';

type Organization = NonNullable<Answers['Usage']['viewer']['organization']>;
type Occurrences = NonNullable<Organization['monthlyOccurrenceUsage']>;

const whole = new Intl.NumberFormat('en');
const monthName = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });

export function UsagePage() {
  const { data, faults, isLoading, paused } = useQuery('Usage', {});
  const organization = data?.viewer.organization;
  const counts: readonly (readonly [name: string, count: number | undefined])[] = [
    ['Members', organization?.memberCount],
    ['Sessions', organization?.sessions?.totalCount],
    ['MCP connections', organization?.mcpServers?.totalCount],
    ['Event definitions', organization?.eventDefinitions?.totalCount],
    ['API keys', data?.viewer.apiKeys?.totalCount],
  ];
  return (
    <PageFrame title="Usage" intro="What this organization uses, against its limits.">
      <p>
        What sessions cost is in the <a href="/overview">overview</a>.
      </p>
      <Faults faults={faults} />
      {isLoading && !organization && <Loading paused={paused} />}
      <div class="panels">
        {organization?.monthlyOccurrenceUsage && <OccurrencePanel usage={organization.monthlyOccurrenceUsage} />}
        {organization && <KeyPanel />}
      </div>
      <Counts counts={counts} />
      {organization && (
        <>
          <h2>Subscriptions</h2>
          <ul class="chips">
            {organization.subscriptions.map(({ family, level }) => (
              <li key={family}>
                {wordsOf(family)}: {level.toLowerCase()}
              </li>
            ))}
          </ul>
        </>
      )}
    </PageFrame>
  );
}

function OccurrencePanel({ usage: { month, count, limit, resetsAt } }: { readonly usage: Occurrences }) {
  const used = Number(count);
  return (
    <section class="panel" aria-labelledby="occurrences">
      <h2 id="occurrences">Event occurrences in {monthName.format(new Date(month))}</h2>
      {limit === null ? (
        <p class="figure">{whole.format(used)}</p>
      ) : (
        <Share name="Occurrences" used={used} limit={Number(limit)} />
      )}
      <p class="soft">
        {limit === null ? (
          'There is no monthly limit.'
        ) : (
          <>
            Starts again <Time at={resetsAt} />.
          </>
        )}
      </p>
    </section>
  );
}

/** The use of the limits in this minute. The console calls with the key that signed in. */
function KeyPanel() {
  const { requests, cost } = budget;
  const usedOf = ({ limit, remaining }: Left) => limit - remaining;
  return (
    <section class="panel" aria-labelledby="minute">
      <h2 id="minute">Your key in this minute</h2>
      {requests ? <Share name="Requests" used={usedOf(requests)} limit={requests.limit} /> : <p>There is no limit.</p>}
      {cost && <Share name="Cost of GraphQL" used={usedOf(cost)} limit={cost.limit} />}
    </section>
  );
}

interface ShareProps {
  readonly name: string;
  readonly used: number;
  readonly limit: number;
}

const Share = ({ name, used, limit }: ShareProps) => (
  <div class="share">
    <p>
      <span>{name}</span>{' '}
      <span class="number">
        {whole.format(used)} of {whole.format(limit)}
      </span>
    </p>
    <progress max={limit} value={Math.min(used, limit)} aria-label={name}></progress>
  </div>
);
