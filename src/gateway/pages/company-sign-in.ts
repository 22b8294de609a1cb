import { answerHtml, escapeHtml } from '../../core/http/html-page.ts';
import { type HttpAnswer, answerJson, answerWith } from '../../core/http/messages.ts';
import { readText } from '../../core/http/request-body.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import { WORK } from '../../core/work-budget.ts';
import { RefusedIdentityError } from '../../domains/identities/public.ts';
import { smallPage } from './layout.ts';
import type { Visit } from './visit.ts';

/** A failure of the sign-in with the identity provider. */
interface FailurePage {
  readonly status: number;
  readonly title: string;
  /** What happened, and what to do. */
  readonly text: string;
}

const OPERATOR = 'The operator of this gateway finds the reason in the log, by the request id';

export const FAILURES = {
  unavailable: {
    status: 502,
    title: 'Your identity provider does not answer',
    text: 'Try again in a minute. In an emergency, the operator of this gateway makes a link with “cli sign-in link --email E”.',
  },
  denied: {
    status: 403,
    title: 'Your identity provider has refused the sign-in',
    text: 'Ask its administrator to assign this application to you, then sign in again.',
  },
  misconfigured: {
    status: 502,
    title: 'Your identity provider does not accept this gateway',
    text: `${OPERATOR}, and compares the client id, the client secret and the redirect address with those at the provider.`,
  },
  used: {
    status: 400,
    title: 'This sign-in was completed before, or took too long',
    text: 'Sign in again.',
  },
  tooLarge: {
    status: 502,
    title: 'The answer of your identity provider is too large',
    text: 'Ask its administrator to send fewer claims to this application, such as only the groups that are assigned to it.',
  },
  untrusted: {
    status: 502,
    title: 'The answer of your identity provider cannot be trusted',
    text: `Nobody was signed in. Sign in again. If it happens again, ${OPERATOR.replace('The', 'the')}.`,
  },
  lost: {
    status: 400,
    title: 'This sign-in was not begun in this browser, or more than 10 minutes ago',
    text: 'Sign in again in this browser, with cookies allowed.',
  },
} as const satisfies Record<string, FailurePage>;

/** What the pages need of the sign-in with the identity provider. */
export interface OidcPages {
  /** The name of the provider; undefined without one. */
  readonly name: string | undefined;
  readonly begin: (next: string, visit: Visit) => Promise<{ readonly location: string; readonly cookie: string }>;
  /** The attempt of the browser that the answer of the provider belongs to. It fails if there is none. */
  readonly attemptOf: (visit: Visit) => Promise<{
    /** The `Set-Cookie` header that ends it. */
    readonly ended: string;
    readonly complete: (
      visit: Visit,
    ) => Promise<{ readonly cookie: string; readonly next: string; readonly notice?: string | undefined }>;
  }>;
  /** Which page a failure shows; undefined for other errors. It is logged. */
  readonly failureOf: (error: unknown, visit: Visit) => keyof typeof FAILURES | undefined;
  /** Where the browser goes on after the end of a sign-in, to end the session at the provider. */
  readonly endOf: (id: ApiKeyId, visit: Visit) => Promise<string | undefined>;
  /** Ends what a logout token of the provider names. */
  readonly logOut: (token: string, visit: Visit) => Promise<void>;
  /** @throws DomainError (429) */
  readonly countAttempt: (kind: 'signInOidc' | 'signInOidcCallback' | 'signInOidcLogout', visit: Visit) => void;
}

/** GET `/sign-in/oidc`: leads to the provider. */
export async function beginOidc(visit: Visit, next: string, pages: OidcPages): Promise<HttpAnswer> {
  if (visit.request.method === 'HEAD') return nothing();
  pages.countAttempt('signInOidc', visit);
  try {
    const { location, cookie } = await pages.begin(next, visit);
    return answerWith(null, {
      status: 303,
      headers: { Location: location, 'Set-Cookie': cookie, 'Cache-Control': 'no-store' },
    });
  } catch (error) {
    return failed(error, visit, pages, {});
  }
}

/** GET `/sign-in/oidc/callback`: where the provider leads the browser to. */
export async function completeOidc(visit: Visit, pages: OidcPages): Promise<HttpAnswer> {
  if (visit.request.method === 'HEAD') return nothing();
  pages.countAttempt('signInOidcCallback', visit);
  let ended: string | undefined;
  try {
    const attempt = await pages.attemptOf(visit);
    // Not for an answer that belongs to no attempt: another site can lead a browser here.
    ended = attempt.ended;
    const { cookie, next, notice } = await attempt.complete(visit);
    // Two fields of one name, whose case does not count. Where only one can be sent, it is the last.
    return signedInHere(next, notice, { 'set-cookie': ended, 'Set-Cookie': cookie });
  } catch (error) {
    return failed(error, visit, pages, ended === undefined ? {} : { 'Set-Cookie': ended });
  }
}

/** POST `/sign-in/oidc/logout`: the provider ends sign-ins (OpenID Connect Back-Channel Logout 1.0, section 2.5). Only refused ones are counted. */
export async function logOut(visit: Visit, pages: OidcPages): Promise<HttpAnswer> {
  const text = await readText(visit.request, WORK.keylessBytes);
  try {
    await pages.logOut(new URLSearchParams(text).get('logout_token') ?? '', visit);
    return answerWith(null, { status: 200, headers: { 'Cache-Control': 'no-store' } });
  } catch (error) {
    const failure = pages.failureOf(error, visit);
    if (failure === undefined) throw error;
    pages.countAttempt('signInOidcLogout', visit);
    const status = failure === 'unavailable' ? 503 : 400;
    return answerJson({ error: 'invalid_request' }, { status, headers: { 'Cache-Control': 'no-store' } });
  }
}

const nothing = (): HttpAnswer => answerWith(null, { status: 204, headers: { 'Cache-Control': 'no-store' } });

/**
 * The browser comes from another site, so it would not send the new cookie, which is `SameSite=Strict`, to the target of a redirect. It sends
 * it to the target of a link of this page, which it follows by itself unless there is something to read.
 */
export function signedInHere(
  next: string,
  notice: string | undefined,
  headers: Readonly<Record<string, string>>,
): HttpAnswer {
  const target = escapeHtml(next);
  const html = smallPage(
    'Signed in',
    `<h1>You are signed in</h1>
${notice === undefined ? '' : `<p class="notice" role="status">${escapeHtml(notice)}</p>`}
<p><a class="button wide next" href="${target}">Continue</a></p>`,
    notice === undefined ? `<meta http-equiv="refresh" content="0;url=${target}">` : '',
  );
  return answerHtml(html, { headers });
}

function failed(error: unknown, visit: Visit, pages: OidcPages, headers: Readonly<Record<string, string>>): HttpAnswer {
  if (error instanceof RefusedIdentityError) {
    visit.onRefusal(error, 'signIn');
    return failurePage({ status: 403, title: 'You cannot sign in here', text: error.message }, visit, headers);
  }
  const failure = pages.failureOf(error, visit);
  if (failure === undefined) throw error;
  return failurePage(FAILURES[failure], visit, headers);
}

function failurePage(
  { status, title, text }: FailurePage,
  { requestId }: Visit,
  headers: Readonly<Record<string, string>>,
): HttpAnswer {
  const html = smallPage(
    title,
    `<h1>${escapeHtml(title)}</h1>
<p role="alert">${escapeHtml(text)}</p>
<p><a class="button wide" href="/sign-in">Back to the sign-in</a></p>
<p class="soft">Request id: <code>${escapeHtml(requestId)}</code></p>`,
  );
  return answerHtml(html, { status, headers });
}
