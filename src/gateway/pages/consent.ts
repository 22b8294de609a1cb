import { SCOPE_DECLARATIONS, type Scope } from '../../core/access.ts';
import { answerHtml, escapeHtml } from '../../core/http/html-page.ts';
import type { HttpAnswer } from '../../core/http/messages.ts';
import { smallPage } from './layout.ts';

/** The pages of the authorization server: consent, codes of devices, and failures. They work without scripts. */

export interface AskedConsent {
  readonly action: string;
  readonly csrf: string;
  readonly clientName: string;
  /** Who answers for the name. */
  readonly origin: string;
  /** Where the browser is led afterwards; null for a device. */
  readonly redirectHost: string | null;
  readonly resource: string;
  /** The code that the device shows. */
  readonly userCode?: string;
  /** Whether the client is a program on the computer of the person. */
  readonly isLocal: boolean;
  readonly scopes: readonly Scope[];
  /** Whether the person chooses among them. */
  readonly canChoose: boolean;
  readonly organizations: readonly { readonly id: string; readonly name: string }[];
}

const LOCAL_WARNING =
  'This app runs on your computer. Any program there can claim to be it: continue only if you have just started the connection yourself.';
const DEVICE_WARNING =
  'Continue only if your own device shows this code now. Who sends you a code or a link wants to use your account.';

/** Asks a person whether a client gets a grant. */
export function consentPage(asked: AskedConsent): HttpAnswer {
  const { action, csrf, clientName, scopes, canChoose, organizations, userCode } = asked;
  const name = escapeHtml(clientName);
  const warnings = [asked.isLocal ? LOCAL_WARNING : '', userCode === undefined ? '' : DEVICE_WARNING];
  const html = smallPage(
    `Connect ${clientName}`,
    `<h1>Connect ${name}?</h1>
<dl>${facts(asked)
      .map(([term, text]) => `<dt class="soft">${term}</dt><dd>${escapeHtml(text)}</dd>`)
      .join('\n')}</dl>
${warnings.map((text) => (text === '' ? '' : `<p class="notice warn" role="note">${text}</p>`)).join('')}
<p>${name} could do this in your name, until you disconnect it:</p>
${canChoose ? '' : `<ul>${scopes.map((scope) => `<li>${textOf(scope)}</li>`).join('\n')}</ul>`}
<form method="post" action="${escapeHtml(action)}">
  ${canChoose ? scopes.map(choiceOf).join('\n') : ''}
  <input type="hidden" name="csrf" value="${escapeHtml(csrf)}">
  ${userCode === undefined ? '' : `<input type="hidden" name="user_code" value="${escapeHtml(userCode)}">`}
  ${organizationField(organizations)}
  <button class="button wide" type="submit" name="decision" value="allow">Connect</button>
  <button class="button plain wide" type="submit" name="decision" value="deny">Cancel</button>
</form>`,
  );
  return answerHtml(html);
}

const textOf = (scope: Scope): string => escapeHtml(SCOPE_DECLARATIONS[scope].description);

const choiceOf = (scope: Scope): string =>
  `<label class="choice"><input type="checkbox" name="scope" value="${scope}" checked> ${textOf(scope)}</label>`;

function facts({ origin, redirectHost, resource, userCode }: AskedConsent): [string, string][] {
  return [
    ['Described by', origin],
    ...(redirectHost === null ? [] : [['Leads you to', redirectHost] satisfies [string, string]]),
    ...(userCode === undefined ? [] : [['Code on your device', userCode] satisfies [string, string]]),
    ['For the address', resource],
  ];
}

function organizationField(organizations: AskedConsent['organizations']): string {
  const [only, ...others] = organizations;
  if (only && others.length === 0)
    return `<input type="hidden" name="organization" value="${escapeHtml(only.id)}"><p class="soft">In the organization ${escapeHtml(only.name)}.</p>`;
  const options = organizations.map(({ id, name }) => `<option value="${escapeHtml(id)}">${escapeHtml(name)}</option>`);
  return `<div class="field"><label for="organization">Organization</label>
  <select id="organization" name="organization" required>${options.join('')}</select></div>`;
}

/** Asks for the code that a device shows. */
export function codePage({ code = '', fault }: { readonly code?: string; readonly fault?: string }): HttpAnswer {
  const html = smallPage(
    'Connect a device',
    `<h1>Connect a device</h1>
<p class="soft">Enter the code that the recorder or the command line shows.</p>
<form method="post" action="/oauth/device">
  ${fault === undefined ? '' : `<p class="notice" id="fault" role="alert">${escapeHtml(fault)}</p>`}
  <div class="field">
    <label for="code">Code</label>
    <input id="code" name="user_code" value="${escapeHtml(code)}" required maxlength="20" autocomplete="off" spellcheck="false"${fault === undefined ? '' : ' aria-describedby="fault" aria-invalid="true"'}>
  </div>
  <button class="button wide" type="submit">Continue</button>
</form>`,
  );
  return answerHtml(html, { status: fault === undefined ? 200 : 400 });
}

/**
 * Goes on by itself. It is a page, not a redirect: a form may not lead to another host, and the cookie of the sign-in, which is
 * `SameSite=Strict`, is sent only from a page of the gateway.
 */
export function onwardPage(title: string, target: string, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  const address = escapeHtml(target);
  const html = smallPage(
    title,
    `<h1>${escapeHtml(title)}</h1>
<p><a class="button wide next" href="${address}">Continue</a></p>`,
    `<meta http-equiv="refresh" content="0;url=${address}">`,
  );
  return answerHtml(html, { headers });
}

/** Ends a device authorization, or says why an authorization has failed. */
export const endPage = (
  title: string,
  text: string,
  { status = 200, requestId }: { readonly status?: number; readonly requestId?: string } = {},
): HttpAnswer => answerHtml(endHtml(title, text, requestId), { status });

export const endHtml = (title: string, text: string, requestId?: string): string =>
  smallPage(
    title,
    `<h1>${escapeHtml(title)}</h1>
<p role="${requestId === undefined ? 'status' : 'alert'}">${escapeHtml(text)}</p>
${requestId === undefined ? '' : `<p class="soft">Request id: <code>${escapeHtml(requestId)}</code></p>`}`,
  );
