import { durationOf } from '../parts/amounts.ts';
import { useTitleFocus } from '../parts/hooks.ts';
import { visibleText } from '../parts/markup.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Badge } from '../parts/parts.tsx';
import { SessionActions } from './session-actions.tsx';

type Session = NonNullable<Answers['Session']['session']>;

/** What people have noted at a session, beside its state. */
export const Marks = ({ session: { hold, handled } }: { readonly session: Pick<Session, 'hold' | 'handled'> }) => (
  <>
    {hold && <Badge value="HELD" />} {handled && <Badge value="HANDLED" />}
  </>
);

interface HeadProps {
  readonly session: Session;
  /** Why the session failed. */
  readonly reason: string | undefined;
  readonly models: readonly string[];
  readonly toErrors: () => void;
  readonly onChange: () => void;
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
}

const COMPACT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const DOLLARS = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD' });
const CENTS = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD', maximumSignificantDigits: 2 });

/** What stays in view, in two lines: which session it is, how it is, and what it has cost; why it failed, in a third. All else is behind the button. */
export function SessionHead({ session, reason, models, toErrors, onChange, isOpen, setOpen }: HeadProps) {
  useTitleFocus();
  const why = reason ?? session.hold?.reason;
  return (
    <header class="session-head">
      <div class="session-title">
        <h1 id="page-title" tabindex={-1} dir="auto" title={visibleText(session.title)}>
          {session.title}
        </h1>
        <button class="link" aria-expanded={isOpen} aria-controls="session-details" onClick={() => setOpen(!isOpen)}>
          Details
        </button>
        <SessionActions session={session} onChange={onChange} />
      </div>
      <div class="session-state">
        <Badge value={session.state.current} />
        <Marks session={session} />
        <ul class="totals" aria-label="Totals">
          {totalsOf(session).map(([name, text]) => (
            <li key={name} class={name}>
              {name === 'failed' ? (
                <button class="link" onClick={toErrors}>
                  {text}
                </button>
              ) : (
                text
              )}
            </li>
          ))}
          {namesOf(session, models).map((text) => (
            <li key={text} class="soft name">
              {text}
            </li>
          ))}
        </ul>
      </div>
      {why && (
        <p class={reason ? 'fault reason' : 'reason'} title={visibleText(why)}>
          {why}
        </p>
      )}
    </header>
  );
}

/** The most important first. Zero says nothing that its absence does not. */
function totalsOf(session: Session): readonly (readonly [name: string, text: string])[] {
  const { usage } = session;
  const cost = usage?.costUsd ?? 0;
  const took = tookMs(session);
  const totals: readonly (readonly [name: string, amount: number, text: string])[] = [
    ['cost', cost, (cost < 1 ? CENTS : DOLLARS).format(cost)],
    ['took', took, durationOf(took)],
    ['failed', usage?.toolErrors ?? 0, failedCalls(usage?.toolErrors ?? 0)],
    ['tokens-in', usage?.inputTokens ?? 0, `${COMPACT.format(usage?.inputTokens ?? 0)} tokens in`],
    ['tokens-out', usage?.outputTokens ?? 0, `${COMPACT.format(usage?.outputTokens ?? 0)} out`],
  ];
  return totals.flatMap(([name, amount, text]) => (amount > 0 ? [[name, text] as const] : []));
}

const failedCalls = (count: number) => `${COMPACT.format(count)} failed tool call${count === 1 ? '' : 's'}`;

/** How long the agent worked, as it has reported; else how long the session was recorded, unless it was read from a file later. */
export const tookMs = ({ usage, source, createdAt, lastSeenAt }: Session): number =>
  usage?.durationMs ?? (source ? 0 : Date.parse(lastSeenAt) - Date.parse(createdAt));

const MODELS = 2;

function namesOf({ agent, project }: Session, models: readonly string[]): readonly string[] {
  const more = models.length > MODELS ? [`${models.length - MODELS} more`] : [];
  return [agent, ...models.slice(0, MODELS), ...more, project?.name].filter((name) => typeof name === 'string');
}
