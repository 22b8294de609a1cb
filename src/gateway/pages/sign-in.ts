import { z } from 'zod';
import { DomainError, ForbiddenError, unauthenticated } from '../../core/errors.ts';
import { answerHtml, escapeHtml } from '../../core/http/html-page.ts';
import { type HttpAnswer, type HttpHeaders, type HttpRequest, answerWith } from '../../core/http/messages.ts';
import { readText } from '../../core/http/request-body.ts';
import { parseInput } from '../../core/input/validation.ts';
import { WORK } from '../../core/work-budget.ts';
import type { BrowserSessions } from '../admission/browser-session.ts';
import type { KnownKey } from '../admission/api-key-lookup.ts';
import { publishScript } from './scripts.ts';
import { smallPage } from './layout.ts';
import { onwardPage } from './consent.ts';
import { type OidcPages, beginOidc, completeOidc, logOut, signedInHere } from './company-sign-in.ts';
import type { Visit } from './visit.ts';

export interface SignInDependencies {
  readonly sessions: BrowserSessions;
  /** The key that a browser is signed in with. It does not check where the request comes from. */
  readonly visitorOf: (headers: HttpHeaders) => Promise<KnownKey | undefined>;
  /** Finds a valid key; the refusal of an unknown or invalid key, which is recorded. */
  readonly findKey: (key: string, visit: Visit) => Promise<KnownKey | RefusedKey>;
  /** The command that creates a key, which the page shows. */
  readonly keyCommand: string;
  readonly oidc: OidcPages;
  /** Whether keys sign browsers in. */
  readonly keysSignIn: boolean;
  /** Signs in with a one-time link. @returns the `Set-Cookie` header. @throws DomainError (401) for a link that does not work */
  readonly redeemLink: (token: string, visit: Visit) => Promise<string>;
}

/** Why a key does not sign in. */
type RefusedKey = DomainError & { readonly isAsleep: boolean };

type SitePageAnswer = (visit: Visit) => Promise<HttpAnswer>;

const signInInput = z.strictObject({
  key: z.string().max(1000),
  next: z.string().optional(),
});

const WRONG_KEY = 'That key does not work: it is mistyped, expired or revoked. Check it, or use another one.';
const ASLEEP_KEY =
  'That key is asleep, because you have not signed in with your identity provider for too long. Sign in with it, and the key works again.';
const NO_KEYS = 'API keys do not sign browsers in here. Sign in with your identity provider.';
const SERVICE_ACCOUNT =
  'That key is of a service account, which cannot sign in. Send it with requests of programs, and sign in with a key of yours.';
const FOREIGN_FORM = 'Sign in on this page, not from another site.';

/** Signs browsers in with an API key or a one-time link, and signs them out. */
export function createSignIn(
  dependencies: SignInDependencies,
): Readonly<Record<'show' | 'submit' | 'signOut' | 'beginOidc' | 'completeOidc' | 'logOut', SitePageAnswer>> {
  const { sessions, visitorOf } = dependencies;
  const form = (asked: Asked): HttpAnswer => signInPage(asked, dependencies);
  return {
    /** GET `/sign-in`: the form; with the parameter `token` a one-time link. */
    show: async (visit) => {
      const {
        request,
        url: { searchParams },
      } = visit;
      const token = searchParams.get('token');
      if (token !== null) return redeem(visit, token, dependencies);
      const known = await visitorOf(request.headers);
      const next = localPath(searchParams.get('next') ?? '/');
      return known ? signedInPage(next) : form({ next, notice: NOTICES.get(searchParams.get('ended') ?? '') });
    },

    /** POST `/sign-in`: the form, or the same as JSON from scripts of the pages. */
    submit: (visit) => submit(visit, dependencies),

    beginOidc: (visit) => beginOidc(visit, localPath(visit.url.searchParams.get('next') ?? '/'), dependencies.oidc),

    completeOidc: (visit) => completeOidc(visit, dependencies.oidc),

    logOut: (visit) => logOut(visit, dependencies.oidc),

    /** POST `/sign-out` */
    signOut: async (visit) => {
      const { headers } = visit.request;
      if (!sessions.isSameOrigin(headers)) return form({ fault: FOREIGN_FORM, status: 403 });
      const id = await sessions.idOf(headers);
      const cookie = await sessions.end(headers, visit);
      const onward = id && (await dependencies.oidc.endOf(id, visit));
      if (onward) return onwardPage('You are signed out here', onward, { 'Set-Cookie': cookie });
      return answerWith(null, { status: 303, headers: { 'Set-Cookie': cookie, Location: '/sign-in' } });
    },
  };
}

async function redeem(visit: Visit, token: string, dependencies: SignInDependencies): Promise<HttpAnswer> {
  const { method, headers } = visit.request;
  // A prefetch by the browser must not use up the link.
  if (method === 'HEAD' || /prefetch/.test(headers.get('sec-purpose') ?? ''))
    return answerWith(null, { status: 204, headers: { 'Cache-Control': 'no-store' } });
  try {
    return signedInHere('/', undefined, { 'Set-Cookie': await dependencies.redeemLink(token, visit) });
  } catch (error) {
    if (!(error instanceof DomainError) || error.kind !== 'unauthenticated') throw error;
    return signInPage({ fault: error.message }, dependencies);
  }
}

async function submit(visit: Visit, dependencies: SignInDependencies): Promise<HttpAnswer> {
  const { request } = visit;
  if (!mayComeFromHere(request, dependencies.sessions))
    return signInPage({ fault: FOREIGN_FORM, status: 403 }, dependencies);
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.headers.get('content-type') ?? '');
  const text = await readText(request, WORK.keylessBytes);
  const given = isForm ? Object.fromEntries(new URLSearchParams(text)) : json(text);
  const { key, next } = parseInput(signInInput, given);
  const target = localPath(next ?? '/');
  const refused = (refusal: DomainError): HttpAnswer => {
    if (!isForm) throw refusal;
    return signInPage({ fault: refusal.message, next: target, status: refusal.status }, dependencies);
  };
  if (!dependencies.keysSignIn) return refused(new ForbiddenError(NO_KEYS));
  const known = await dependencies.findKey(key.trim().replace(/^Bearer +/i, ''), visit);
  if (known instanceof DomainError) return refused(unauthenticated(known.isAsleep ? ASLEEP_KEY : WRONG_KEY));
  if (known.isServiceAccount) return refused(new ForbiddenError(SERVICE_ACCOUNT));
  const { sessions } = dependencies;
  const cookie = await sessions.startWithKey(known, { ...visit, before: await sessions.idOf(request.headers) });
  return isForm ? signedIn(target, cookie) : answerWith(null, { status: 204, headers: { 'Set-Cookie': cookie } });
}

function signedIn(next: string, cookie: string): HttpAnswer {
  const headers = { 'Set-Cookie': cookie, Location: next, 'Cache-Control': 'no-store' };
  return answerWith(null, { status: 303, headers });
}

/** Whether the form can come from our page. Programs other than browsers send no origin; they have no cookie that others could misuse. */
function mayComeFromHere({ headers }: HttpRequest, sessions: BrowserSessions): boolean {
  const site = headers.get('sec-fetch-site');
  if (site === 'none' || (site === null && !headers.has('origin'))) return true;
  return sessions.isSameOrigin(headers);
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Longer targets would not fit into the cookies of attempts to sign in. */
const MAX_PATH = 2000;

/** Converts the requested target to a path of this gateway, so that a link cannot redirect to another site, or back to the sign-in without end. */
function localPath(wanted: string): string {
  const base = 'http://gateway';
  if (wanted.length > MAX_PATH || !wanted.startsWith('/') || !URL.canParse(wanted, base)) return '/';
  const { origin, pathname, search, hash } = new URL(wanted, base);
  // Two leading slashes would mean another host.
  const path = pathname.replace(/^\/+/, '/') + search + hash;
  const isSignIn = /^\/sign-in(?![^/?#])/.test(path);
  return origin === base && path.length <= MAX_PATH && !isSignIn ? path : '/';
}

interface Asked {
  readonly fault?: string | undefined;
  readonly notice?: string | undefined;
  readonly next?: string;
  readonly status?: number;
}

/** Why the console has led here, by the parameter `ended`. */
const NOTICES: ReadonlyMap<string, string> = new Map([
  ['account', 'Your account is being deleted. Its API keys no longer work.'],
  ['organization', 'The organization is being deleted. Its API keys no longer work.'],
]);

function signInPage(
  { fault, notice, next = '/', status = fault ? 401 : 200 }: Asked,
  { keyCommand, oidc, keysSignIn }: SignInDependencies,
): HttpAnswer {
  const html = smallPage(
    'Sign in',
    `<h1>Sign in</h1>
${oidc.name === undefined ? '' : providerLink(oidc.name, next, keysSignIn)}
${keysSignIn ? keyForm({ fault, notice, next }, keyCommand) : shownNotices({ fault, notice })}`,
    signInScript(),
  );
  return answerHtml(html, { status, headers: status === 401 ? unauthenticated().headers : {} });
}

/** The button of the identity provider, before the form for a key. A link, because a form may not lead to another host. */
function providerLink(name: string, next: string, hasMore: boolean): string {
  const address = `/sign-in/oidc?next=${encodeURIComponent(next)}`;
  return `<p><a class="button wide provider" href="${escapeHtml(address)}">Sign in with ${escapeHtml(name)}</a></p>${hasMore ? '\n<p class="soft">Or:</p>' : ''}`;
}

function shownNotices({ fault, notice }: Pick<Asked, 'fault' | 'notice'>): string {
  return `${fault ? `<p class="notice" id="fault" role="alert">${escapeHtml(fault)}</p>` : ''}
  ${notice ? `<p class="notice" role="status">${notice}</p>` : ''}`;
}

function keyForm({ fault, notice, next = '/' }: Asked, keyCommand: string): string {
  return `<p class="soft">With an API key. The browser keeps an encrypted cookie, not the key.</p>
<form method="post" action="/sign-in">
  ${shownNotices({ fault, notice })}
  <div class="field">
    <label for="key">API key</label>
    <input id="key" name="key" type="password" placeholder="wgk_…" required autofocus autocomplete="current-password" spellcheck="false"${fault ? ' aria-describedby="fault" aria-invalid="true"' : ''}>
  </div>
  <input type="hidden" name="next" value="${escapeHtml(next)}">
  <button class="button wide" type="submit">Sign in</button>
</form>
<div class="help soft">No key, or lost it? Make one on the gateway's machine, in the folder of the gateway:
<pre>${escapeHtml(keyCommand)}</pre></div>`;
}

function signedInPage(next: string): HttpAnswer {
  const html = smallPage(
    'Signed in',
    `<h1>You are signed in</h1>
<p class="soft">Until you sign out, the key is revoked, or this sign-in has become too old.</p>
<p><a class="button wide next" href="${escapeHtml(next)}">Continue</a></p>
<form method="post" action="/sign-out"><button class="button plain wide" type="submit">Sign out</button></form>`,
    signInScript(),
  );
  return answerHtml(html);
}

let script: string | undefined;

function signInScript(): string {
  script ??= publishScript('sign-in');
  return `<script type="module" src="${script}"></script>`;
}
