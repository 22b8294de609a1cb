import { randomInt } from 'node:crypto';
import type { Interaction } from 'oidc-provider';
import { z } from 'zod';
import { type ActingOrganization, FRONT_END_SCOPES, type Scope, scopesOf } from '../core/access.ts';
import { auditEntry, recordAudit } from '../core/audit.ts';
import { authorityValues, isAuthorizedWithin } from '../core/authority.ts';
import { DomainError, ForbiddenError } from '../core/errors.ts';
import { type HttpAnswer, type HttpHeaders, answerWith } from '../core/http/messages.ts';
import { FRONT_END_RESOURCE } from '../core/http/mcp-addresses.ts';
import { readForm } from '../core/http/request-body.ts';
import { SecretError } from '../core/secrets/secrets.ts';
import { createGrant, findArtifact } from '../domains/oauth-grants/public.ts';
import type { KnownKey } from './admission/api-key-lookup.ts';
import { canAct } from './admission/authenticate.ts';
import { CountedWindows } from './admission/client-limits.ts';
import { cookieName, hasSecureCookies, openCookie, setCookie } from './admission/cookies.ts';
import type { Dependencies } from './dependencies.ts';
import type { Exchange } from './exchange.ts';
import { currentCall } from './authorization-server/calls.ts';
import { type Client, GATEWAY_CLIENT_ID, documentHostOf, isOnlyLocal } from './authorization-server/clients.ts';
import type { OAuthEndpoints } from './authorization-server/endpoints.ts';
import { DECISION_SECONDS, PATHS } from './authorization-server/provider.ts';
import { type AskedConsent, codePage, consentPage, endPage, onwardPage } from './pages/consent.ts';

/** The decision of a person: it is bound to the browser in which it was asked for, to the sign-in of the person, and to what was asked. */

const PLACE = { table: 'oauth_artifact', row: 'cookie', field: 'uid' };
/** Authorizations of one browser at once, such as in several tabs. */
const ATTEMPTS = 8;
const LOST =
  'This connection was not begun in this browser, was decided before, or more than 10 minutes ago. Begin again in the app.';
const FOREIGN =
  'This decision must be sent from the page of the gateway, by the person who has opened it. Begin again in the app.';
const NOTHING =
  'The app asks for no permission that you can give here: your sign-in, its key, or the address of the app does not have it.';
const NO_ORGANIZATION = 'You are in no organization in which the app could act. Join or create one, then begin again.';
/** Wrong codes of devices that a person may type in ten minutes, for as long as a code is valid. */
const WRONG_CODES = { limit: 20, windowMs: DECISION_SECONDS * 1000 } as const;
const WRONG_CODE = 'This code is mistyped, was used before, or is more than 10 minutes old. Look at your device again.';

/** What a client asks for, in an authorization or with a device. */
interface Asked {
  readonly client: Client;
  readonly resource: string;
  readonly scopes: readonly Scope[];
  readonly redirectUri: string | null;
}

/** The parameters that the authorization server has checked. */
const askedParameters = z.object({
  client_id: z.string().default(''),
  scope: z.string().optional(),
  resource: z.string().optional(),
  redirect_uri: z.string().optional(),
});

/** What ends an authorization with a page that says why. */
class Refused extends Error {
  readonly status: number;

  constructor(message: string, status = 400) {
    super(message);
    this.status = status;
  }
}

export class OAuthConsent {
  readonly #dependencies: Dependencies;
  readonly #endpoints: OAuthEndpoints;
  readonly #wrongCodes: CountedWindows;

  constructor(dependencies: Dependencies, endpoints: OAuthEndpoints) {
    this.#dependencies = dependencies;
    this.#endpoints = endpoints;
    this.#wrongCodes = new CountedWindows({ ...WRONG_CODES, now: dependencies.now });
  }

  /** The `Set-Cookie` header that binds an authorization to the browser which sends the request. */
  async bind({ request }: Exchange, uid: string): Promise<string> {
    // A free cookie, or any other when all are used.
    const used = await this.#attempts(request.headers);
    const free = used.findIndex((each) => each === undefined);
    const value = await this.#dependencies.secrets.seal(uid, PLACE);
    return this.#cookie(free === -1 ? randomInt(ATTEMPTS) : free, value, DECISION_SECONDS);
  }

  /** The `Set-Cookie` header that ends an authorization; undefined if it was not begun in the browser that sends the request. */
  async release({ request }: Exchange, uid: string): Promise<string | undefined> {
    const index = (await this.#attempts(request.headers)).indexOf(uid);
    return index === -1 ? undefined : this.#cookie(index, '', 0);
  }

  /** The authorizations that were begun in a browser, each with a cookie. */
  #attempts(headers: HttpHeaders): Promise<(string | undefined)[]> {
    const { secrets } = this.#dependencies;
    const names = Array.from({ length: ATTEMPTS }, (_, index) => this.#cookieName(index));
    return Promise.all(names.map((name) => openCookie(secrets, headers, name, PLACE)));
  }

  #cookieName(index: number): string {
    return cookieName(`workspace_oauth_${index}`, hasSecureCookies(this.#dependencies.publicUrl()));
  }

  #cookie(index: number, value: string, maxAge: number): string {
    const isSecure = hasSecureCookies(this.#dependencies.publicUrl());
    return setCookie(this.#cookieName(index), value, { maxAge, sameSite: 'Lax', isSecure });
  }

  /** GET `/oauth/consent/{uid}` */
  show(exchange: Exchange, uid: string): Promise<HttpAnswer> {
    return this.#answer(exchange, async () => {
      await this.#requireBegunHere(exchange, uid);
      const person = await this.#personOf(exchange);
      if (!person) return signIn(exchange);
      const asked = await this.#endpoints.run(exchange, async () => this.#askedBy(await this.#interaction(uid)));
      return consentPage(await this.#page(person, asked, { action: `${PATHS.consent}/${uid}`, subject: uid }));
    });
  }

  /** POST `/oauth/consent/{uid}`. It ends in a page, because a form may not lead to another host. */
  submit(exchange: Exchange, uid: string): Promise<HttpAnswer> {
    return this.#answer(exchange, async () => {
      await this.#requireBegunHere(exchange, uid);
      const { person, form } = await this.#decision(exchange, () => uid);
      // So that no document is fetched within the transaction.
      await this.#endpoints.run(exchange, async () => this.#askedBy(await this.#interaction(uid)));
      const decide = async () => {
        const { em } = currentCall();
        // Of two decisions the second waits for the first, and finds it.
        await findArtifact(em, { kind: 'Interaction', id: uid }, this.#dependencies.now(), { lock: true });
        const interaction = await this.#interaction(uid);
        interaction.result = await this.#resultOf(exchange, { person, form, asked: await this.#askedBy(interaction) });
        await interaction.save(interaction.exp - Math.floor(Date.now() / 1000));
      };
      await this.#endpoints.run(exchange, decide, { isTransaction: true });
      return onwardPage('Back to the app', `${PATHS.authorization}/${uid}`);
    });
  }

  /** What the authorization server continues with. */
  async #resultOf(exchange: Exchange, decision: Decision & { readonly asked: Asked }): Promise<object> {
    if (decision.form.get('decision') !== 'allow')
      return { error: 'access_denied', error_description: 'the person has refused the connection' };
    const grantId = await this.#grant(exchange, decision);
    return { login: { accountId: decision.person.userId, remember: false }, consent: { grantId } };
  }

  /** GET `/oauth/device` */
  showDevice(exchange: Exchange): Promise<HttpAnswer> {
    return this.#answer(exchange, async () => {
      if (!(await this.#personOf(exchange))) return signIn(exchange);
      return codePage({ code: exchange.url.searchParams.get('user_code')?.slice(0, 20) ?? '' });
    });
  }

  /** POST `/oauth/device`: the code, then the decision. */
  submitDevice(exchange: Exchange): Promise<HttpAnswer> {
    return this.#answer(exchange, async () => {
      let code = '';
      const subjectOf = (form: URLSearchParams) => {
        code = (form.get('user_code') ?? '')
          .toUpperCase()
          .replaceAll(/[^A-Z0-9]/g, '')
          .slice(0, 20);
        return form.has('decision') ? `device ${code}` : undefined;
      };
      const decision = await this.#decision(exchange, subjectOf);
      const seconds = this.#wrongCodes.fullFor(decision.person.userId);
      if (seconds !== undefined) throw tooManyCodes(seconds);
      const isDecided = decision.form.has('decision');
      if (isDecided) await this.#endpoints.run(exchange, () => this.#device(code));
      const work = () =>
        isDecided ? this.#decideDevice(exchange, code, decision) : this.#confirmDevice(code, decision);
      return this.#endpoints.run(exchange, work, { isTransaction: isDecided });
    });
  }

  async #confirmDevice(code: string, { person }: Decision): Promise<HttpAnswer> {
    const found = await this.#device(code);
    if (!found) return this.#wrongCode(code, person);
    const page = { action: PATHS.device, subject: `device ${code}`, userCode: `${code.slice(0, 4)}-${code.slice(4)}` };
    return consentPage(await this.#page(person, found.asked, page));
  }

  async #decideDevice(exchange: Exchange, code: string, decision: Decision): Promise<HttpAnswer> {
    const { now } = this.#dependencies;
    await findArtifact(currentCall().em, { kind: 'DeviceCode', reference: code }, now(), { lock: true });
    const found = await this.#device(code);
    if (!found) return this.#wrongCode(code, decision.person);
    const { device, asked } = found;
    if (decision.form.get('decision') !== 'allow') {
      await Object.assign(device, { error: 'access_denied' }).save();
      return endPage('Not connected', 'Nothing was connected. You can close this page.');
    }
    const grantId = await this.#grant(exchange, { ...decision, asked });
    const given = { accountId: decision.person.userId, grantId, resource: asked.resource };
    const scope = usableScopes(decision.person, asked, chosenIn(decision)).join(' ');
    await Object.assign(device, { ...given, scope }).save();
    return endPage('Connected', 'You can close this page and go back to your device.');
  }

  #wrongCode(code: string, { userId }: KnownKey): HttpAnswer {
    this.#wrongCodes.count(userId);
    return codePage({ code, fault: WRONG_CODE });
  }

  async #device(code: string) {
    const device = await (await this.#endpoints.provider()).DeviceCode.findByUserCode(code);
    if (!device || device.isExpired || device.error !== undefined || device.accountId !== undefined) return undefined;
    return { device, asked: await this.#askedFor(device.clientId, device.params) };
  }

  async #interaction(uid: string): Promise<Interaction> {
    const interaction = await (await this.#endpoints.provider()).Interaction.find(uid);
    if (!interaction || interaction.result !== undefined) throw new Refused(LOST);
    return interaction;
  }

  #askedBy({ params }: Interaction): Promise<Asked> {
    return this.#askedFor(askedParameters.parse(params).client_id, params);
  }

  async #askedFor(clientId: string, params: Readonly<Record<string, unknown>>): Promise<Asked> {
    const client = await this.#endpoints.clients.find(clientId);
    if (!client) throw new Refused(LOST);
    const { scope = '', resource = '', redirect_uri: redirectUri = null } = askedParameters.parse(params);
    const names = new Set(scope.split(' '));
    return {
      client,
      resource,
      scopes: FRONT_END_SCOPES.filter((each) => names.has(each)),
      redirectUri,
    };
  }

  async #page(
    person: KnownKey,
    asked: Asked,
    { action, subject, userCode }: { readonly action: string; readonly subject: string; readonly userCode?: string },
  ): Promise<AskedConsent> {
    const scopes = usableScopes(person, asked);
    if (scopes.length === 0) throw new Refused(NOTHING, 403);
    if (person.organizations.length === 0) throw new Refused(NO_ORGANIZATION, 403);
    const { client, resource, redirectUri } = asked;
    return {
      action,
      csrf: await this.#dependencies.secrets.seal('consent', formPlace(subject, person)),
      clientName: client.client_name,
      origin: this.#originOf(client.client_id),
      redirectHost: hostOf(redirectUri),
      resource,
      canChoose: this.#isForFrontEnds(resource),
      ...(userCode !== undefined && { userCode }),
      isLocal: isOnlyLocal(client),
      scopes,
      organizations: person.organizations.map(({ id, name }) => ({ id, name })),
    };
  }

  /** Who answers for the name of a client. */
  #originOf(id: string): string {
    if (id === GATEWAY_CLIENT_ID) return 'this gateway';
    if (this.#dependencies.config.OAUTH_CLIENTS.some((each) => each.id === id)) return 'the operator of this gateway';
    return documentHostOf(id) ?? 'nobody: the app has registered itself';
  }

  #isForFrontEnds(resource: string): boolean {
    return resource === this.#dependencies.publicUrl() + FRONT_END_RESOURCE;
  }

  /** Reads a form of the page. With a subject, it must have been shown to the same sign-in for the same subject. */
  async #decision(exchange: Exchange, subjectOf: (form: URLSearchParams) => string | undefined): Promise<Decision> {
    const { browserSessions, secrets } = this.#dependencies;
    if (!browserSessions.isSameOrigin(exchange.request.headers)) throw new Refused(FOREIGN, 403);
    const form = await readForm(exchange.request);
    const person = await this.#personOf(exchange);
    if (!person) throw new Refused(FOREIGN, 403);
    const subject = subjectOf(form);
    if (subject !== undefined)
      await secrets.open(form.get('csrf') ?? '', formPlace(subject, person)).catch((error: unknown) => {
        throw error instanceof SecretError ? new Refused(FOREIGN, 403) : error;
      });
    return { person, form };
  }

  /** Gives the client its grant, in the transaction of the request. @returns its id. */
  async #grant(
    { requestId, requestIdOrigin, client: from }: Exchange,
    { person, form, asked }: Decision & { asked: Asked },
  ) {
    const { now, newId } = this.#dependencies;
    const { em } = currentCall();
    const organization = chosenIn({ person, form });
    const usable = usableScopes(person, asked, organization);
    const chosen = form.getAll('scope');
    const scopes = this.#isForFrontEnds(asked.resource) ? usable.filter((each) => chosen.includes(each)) : usable;
    if (!organization || scopes.length === 0) throw new Refused(organization ? NOTHING : NO_ORGANIZATION, 403);
    const { keyId, userId, signedInWithId } = person;
    const values = authorityValues({ actor: { keyId, userId, organization }, now });
    if (!(await isAuthorizedWithin(em, values))) throw new Refused(FOREIGN, 403);
    const { client, resource, redirectUri } = asked;
    const grant = {
      id: newId(),
      userId,
      organizationId: organization.id,
      scopes,
      clientId: client.client_id,
      clientName: client.client_name,
      clientHost: documentHostOf(client.client_id),
      resource,
      redirectHost: hostOf(redirectUri),
      signedInWithId,
      // Until the client has exchanged the code.
      expiresAt: new Date(now().getTime() + DECISION_SECONDS * 1000),
    };
    const created = await createGrant(em, grant, now());
    if (!created) throw new Refused(FOREIGN, 403);
    await em.flush();
    const target = { type: 'ApiKey' as const, id: created.id, label: created.label() };
    const actor = { keyId: signedInWithId ?? keyId, organization };
    await recordAudit(
      em,
      auditEntry({ now, newId, actor, requestId, requestIdOrigin, client: from }, 'connectApp', target),
    );
    return created.id;
  }

  async #personOf({ request }: Exchange): Promise<KnownKey | undefined> {
    const known = await this.#dependencies.browserSessions.find(request.headers);
    return known && canAct(known) && !known.isServiceAccount ? known : undefined;
  }

  async #requireBegunHere(exchange: Exchange, uid: string): Promise<void> {
    if ((await this.release(exchange, uid)) === undefined) throw new Refused(LOST);
  }

  async #answer({ requestId, onRefusal, operation }: Exchange, answer: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
    try {
      return await answer();
    } catch (error) {
      const isKnown = error instanceof Refused || (error instanceof DomainError && error.status < 500);
      if (!isKnown) throw error;
      onRefusal(error, operation);
      const status = error instanceof ForbiddenError ? 403 : error.status;
      return endPage('Not connected', error.message, { status, requestId });
    }
  }
}

function tooManyCodes(seconds: number): DomainError {
  const message = `You have typed ${WRONG_CODES.limit} wrong codes. Wait ${seconds} seconds, then look at your device again.`;
  return new DomainError('rateLimited', message, { headers: { 'Retry-After': String(seconds) } });
}

interface Decision {
  readonly person: KnownKey;
  readonly form: URLSearchParams;
}

/** A form is valid for one subject and one sign-in. */
const formPlace = (subject: string, { keyId }: KnownKey) => ({ table: 'oauth_consent', row: subject, field: keyId });

const chosenIn = ({ person, form }: Decision) => person.organizations.find(({ id }) => id === form.get('organization'));

/** The scopes that a client asks for and the person has, and can give in the organization. */
const usableScopes = (person: KnownKey, { scopes }: Asked, organization?: ActingOrganization): Scope[] =>
  scopes.filter((scope) => person.scopes.has(scope) && (!organization || scopesOf(organization.role).includes(scope)));

/** Where the browser is led to, as the page shows it: the host, or for the address of an app its scheme. */
function hostOf(redirectUri: string | null): string | null {
  if (redirectUri === null) return null;
  const { protocol, host } = new URL(redirectUri);
  return protocol === 'https:' || protocol === 'http:' ? host : protocol;
}

/**
 * Signs the person in, who comes back afterwards. Who comes from another site may be signed in: the browser sends the cookie only to where a
 * page of the gateway leads.
 */
function signIn({ url }: Exchange): HttpAnswer {
  const here = new URL(url);
  const isFirst = !here.searchParams.has('here');
  here.searchParams.set('here', '');
  if (isFirst) return onwardPage('One moment', here.pathname + here.search);
  here.searchParams.delete('here');
  const next = encodeURIComponent(here.pathname + here.search);
  return answerWith(null, { status: 303, headers: { Location: `/sign-in?next=${next}`, 'Cache-Control': 'no-store' } });
}
