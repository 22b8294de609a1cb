import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { run, signIn, whoIsSignedIn } from '../parts/api.ts';
import { refusalOf, useQuery } from '../parts/hooks.ts';
import { InputField } from '../parts/filters.tsx';
import { Empty, Loading, PageFrame, Secret, Time, roleName } from '../parts/parts.tsx';

const KEPT = 'invitation';
const NOT_FOUND =
  'The invitation was not found. It was used or revoked already, a newer one has replaced it, or it is older than 7 days. Ask the administrator for another one.';

/**
 * Takes the token from the fragment of the URL, where it reaches no log. It is removed from the URL and the history at
 * once, and kept in this tab until it has been used.
 */
function takeToken(): string {
  const given = location.hash.slice(1);
  if (given !== '') {
    sessionStorage.setItem(KEPT, given);
    history.replaceState(history.state, '', location.pathname);
  }
  return sessionStorage.getItem(KEPT) ?? '';
}

interface Joined {
  readonly name: string;
  readonly organizationId?: string;
  /** The first key of a new account. */
  readonly key?: string;
}

/** How people can sign in: with the identity provider of this name, and with keys. */
interface Ways {
  readonly provider: string | null;
  readonly keysSignIn: boolean;
}

interface PageProps {
  readonly isStranger: boolean;
  readonly ways: Ways;
}

/** `/invitations/accept#wgi_…`: for people who sign in with a key or an identity provider, and for people without an account. */
export function InvitationPage({ isStranger, ways }: PageProps) {
  const [token, setToken] = useState(takeToken);
  const [person, setPerson] = useState<string | null | undefined>(isStranger ? null : undefined);
  const [joined, setJoined] = useState<Joined>();
  const look = () => void whoIsSignedIn().then(setPerson);
  useEffect(() => (isStranger ? undefined : look()), []);
  const onJoined = (one: Joined) => {
    sessionStorage.removeItem(KEPT);
    setJoined(one);
  };
  if (joined) return <Welcome joined={joined} />;
  if (token === '')
    return (
      <PageFrame title="Accept an invitation">
        <TokenForm onToken={setToken} />
      </PageFrame>
    );
  return (
    <PageFrame title="Accept an invitation">
      <Preview token={token} />
      {person === undefined && <Loading />}
      {person !== undefined && person !== null && <AcceptAs person={person} token={token} onJoined={onJoined} />}
      {person === null && ways.provider !== null && <SignInWithProvider name={ways.provider} />}
      {person === null && ways.keysSignIn && (
        <>
          <CreateAccount token={token} onJoined={onJoined} /> <SignIn onSignedIn={look} />
        </>
      )}
    </PageFrame>
  );
}

interface Invitation {
  readonly organizationName: string;
  readonly email: string;
  readonly role: 'admin' | 'member';
  readonly inviter: string | null;
  readonly expiresAt: string;
}

/** What the token invites to. */
function Preview({ token }: { readonly token: string }) {
  const [invitation, setInvitation] = useState<Invitation>();
  const [fault, setFault] = useState<string>();
  useEffect(() => {
    setInvitation(undefined);
    setFault(undefined);
    post<Invitation>('/v1/invitations/preview', { token }).then(
      ({ status, body }) => {
        if (status === 200) setInvitation(body);
        else setFault(status === 404 ? NOT_FOUND : (body.error ?? `The gateway answered ${status}.`));
      },
      () => setFault('The gateway cannot be reached. Reload the page.'),
    );
  }, [token]);
  if (fault !== undefined)
    return (
      <p class="notice" role="alert">
        {fault}
      </p>
    );
  if (!invitation) return <Loading />;
  const { organizationName, email, role, inviter, expiresAt } = invitation;
  return (
    <p>
      {inviter ?? 'An administrator'} has invited <strong>{email}</strong> to <strong>{organizationName}</strong> as
      {role === 'admin' ? ' an administrator' : ' a member'}. The invitation is valid until <Time at={expiresAt} />.
    </p>
  );
}

function TokenForm({ onToken }: { readonly onToken: (token: string) => void }) {
  const [draft, setDraft] = useState('');
  const submit = async () => {
    onToken(draft.trim().replace(/^.*#/, ''));
    return undefined;
  };
  return (
    <div>
      <Empty>Open the link that the administrator gave you, or enter the token at its end.</Empty>
      <OneField label="Invitation token" value={draft} onChange={setDraft} button="Continue" submit={submit} />
    </div>
  );
}

interface StepProps {
  readonly token: string;
  readonly onJoined: (joined: Joined) => void;
}

function AcceptAs({ person, token, onJoined }: StepProps & { readonly person: string }) {
  const accept = async () => {
    const { data, faults } = await run('AcceptInvitation', { token });
    const result = data?.acceptOrganizationInvitation;
    if (result?.__typename === 'NotFoundError') return NOT_FOUND;
    if (result?.__typename !== 'AcceptOrganizationInvitationPayload') return refusalOf(result, faults);
    const { name = 'the organization', databaseId: organizationId } = result.organization ?? {};
    onJoined({ name, ...(organizationId && { organizationId }) });
    return undefined;
  };
  return (
    <section class="panel">
      <p>
        You are signed in as <strong>{person}</strong>.
      </p>
      <OwnInvitations />
      <Form button="Join the organization" submit={accept} />
      <form method="post" action="/sign-out">
        <p class="soft">
          Not you?{' '}
          <button class="link" type="submit">
            Sign out
          </button>
          , and open the link again.
        </p>
      </form>
    </section>
  );
}

/** What the signed-in person is invited to, whatever the link says. */
function OwnInvitations() {
  const invitations = useQuery('OwnInvitations', {}).data?.viewer.invitations?.nodes;
  if (!invitations) return null;
  if (invitations.length === 0)
    return (
      <p class="soft">
        Your e-mail address has no open invitation. The link is for somebody else, was used or revoked, or is too old.
      </p>
    );
  return (
    <ul class="lost">
      {invitations.map(({ id, organizationName, role, expiresAt }) => (
        <li key={id}>
          You are invited to <strong>{organizationName}</strong> as {roleName(role).toLowerCase()}, until{' '}
          <Time at={expiresAt} />
        </li>
      ))}
    </ul>
  );
}

interface Accepted {
  readonly organization?: { readonly id: string; readonly name: string };
  readonly apiKey?: { readonly key: string };
}

/** Sends a request that needs no key. */
async function post<Answer>(
  path: string,
  input: object,
): Promise<{ status: number; body: Answer & { error?: string } }> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(input),
  });
  return { body: (await response.json()) as Answer & { error?: string }, status: response.status };
}

function CreateAccount({ token, onJoined }: StepProps) {
  const [name, setName] = useState('');
  const create = async () => {
    try {
      const { status, body } = await post<Accepted>('/v1/invitations/accept', { token, ...(name && { name }) });
      const { error, organization: joined, apiKey } = body;
      if (status === 404) return NOT_FOUND;
      if (status === 409) return 'The invited address already has an account. Sign in with its key.';
      if (!joined || !apiKey) return error ?? `The gateway answered ${status}.`;
      // The key is shown even if signing in fails, because its first use makes the token invalid.
      await signIn(apiKey.key).catch(() => undefined);
      onJoined({ name: joined.name, organizationId: joined.id, key: apiKey.key });
      return undefined;
    } catch (cause) {
      return `The gateway cannot be reached (${String(cause)}). Try again.`;
    }
  };
  return (
    <section class="panel" aria-labelledby="new-account">
      <h2 id="new-account">I have no account</h2>
      <p class="soft">This creates an account for the invited e-mail address and shows you its first API key.</p>
      <OneField
        label="Your name (optional)"
        isOptional
        value={name}
        onChange={setName}
        button="Create my account and join"
        submit={create}
      />
    </section>
  );
}

function SignIn({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const [key, setKey] = useState('');
  const submit = async () => {
    const refusal = await signIn(key.trim());
    if (refusal === undefined) onSignedIn();
    return refusal;
  };
  return (
    <section class="panel" aria-labelledby="known-account">
      <h2 id="known-account">I have an account</h2>
      <OneField label="API key" type="password" value={key} onChange={setKey} button="Sign in" submit={submit} />
    </section>
  );
}

/** The token stays in this tab, which comes back here. */
const SignInWithProvider = ({ name }: { readonly name: string }) => (
  <section class="panel">
    <p>Sign in with the account of your company that has the invited e-mail address. Then join the organization.</p>
    <p>
      <a class="button" href={`/sign-in/oidc?next=${encodeURIComponent(location.pathname)}`}>
        Sign in with {name}
      </a>
    </p>
  </section>
);

function Welcome({ joined: { name, organizationId, key } }: { readonly joined: Joined }) {
  const search = organizationId === undefined ? '' : `?organization=${organizationId}`;
  return (
    <PageFrame title="Welcome">
      <p>
        You are now a member of <strong>{name}</strong>, and signed in.
      </p>
      {key !== undefined && (
        <Secret label="Your API key. It signs you in here, and your programs elsewhere." value={key} />
      )}
      <p>
        <a class="button" href={`/${search}`}>
          Continue to the console
        </a>
      </p>
    </PageFrame>
  );
}

interface FormProps {
  readonly button: string;
  /** Returns the error, if any. */
  readonly submit: () => Promise<string | undefined>;
  readonly children?: VNode;
}

function Form({ button, submit, children }: FormProps) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const submitted = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFault(await submit());
    setBusy(false);
  };
  return (
    <form class="filters" onSubmit={(event) => void submitted(event)}>
      {children}
      <button class="button" disabled={isBusy}>
        {button}
      </button>
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
    </form>
  );
}

interface OneFieldProps extends Omit<FormProps, 'children'> {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'password';
  readonly isOptional?: boolean;
}

const OneField = ({ button, submit, type = 'text', isOptional = false, ...field }: OneFieldProps) => (
  <Form button={button} submit={submit}>
    <InputField {...field} type={type} required={!isOptional} autocomplete="off" />
  </Form>
);
