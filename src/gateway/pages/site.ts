import { DomainError } from '../../core/errors.ts';
import { wantsHtml } from '../../core/http/html-page.ts';
import type { HttpAnswer, HttpRequest } from '../../core/http/messages.ts';
import { staticFile } from '../../core/http/static-file.ts';
import { consolePage, isConsolePath } from './console.ts';
import { FAVICON, fileAt } from './files.ts';
import { graphiqlPage } from './graphiql.ts';
import { referencePage } from './reference.ts';
import { scriptNamed } from './scripts.ts';
import { type SignInDependencies, createSignIn } from './sign-in.ts';
import type { Visit } from './visit.ts';

/** A page: its name in logs and metrics, and a handler for each method. The handler of GET also answers HEAD. */
export interface SitePage {
  readonly operation: string;
  readonly methods: Readonly<Partial<Record<'GET' | 'POST', (visit: Visit) => Promise<HttpAnswer>>>>;
}

export interface Site {
  /** The page that answers a request; undefined when the address belongs to an API. */
  find(request: HttpRequest, path: string): SitePage | undefined;
}

export interface SiteDependencies extends SignInDependencies {
  /** The published GraphQL schema. */
  readonly printSchema: () => string;
}

/** The pages and files of the gateway. They need no API key and load nothing from another host. */
export function createSite({ printSchema, ...signInDependencies }: SiteDependencies): Site {
  const signIn = createSignIn(signInDependencies);
  const schema = once(() => staticFile(printSchema(), 'text/plain; charset=utf-8'));
  const recorder = once(() => staticFile(scriptNamed('record'), 'text/javascript; charset=utf-8'));
  const graphiql = get('graphiql', async ({ headers }) =>
    graphiqlPage(await signInDependencies.visitorOf(headers), signInDependencies),
  );
  const pages: Readonly<Record<string, SitePage>> = {
    '/docs': get('docs', async ({ headers }) =>
      referencePage(await signInDependencies.visitorOf(headers), signInDependencies),
    ),
    '/schema.graphql': get('schema', (request) => schema().answer(request)),
    '/record.mjs': get('recorder', (request) => recorder().answer(request)),
    '/favicon.ico': get('favicon', (request) => fileOrNothing(FAVICON, request)),
    '/sign-in': { operation: 'signIn', methods: { GET: signIn.show, POST: signIn.submit } },
    '/sign-in/oidc': { operation: 'signInOidc', methods: { GET: signIn.beginOidc } },
    '/sign-in/oidc/callback': { operation: 'signInOidcCallback', methods: { GET: signIn.completeOidc } },
    '/sign-in/oidc/logout': { operation: 'signInOidcLogout', methods: { POST: signIn.logOut } },
    '/sign-out': { operation: 'signOut', methods: { POST: signIn.signOut } },
  };
  const console = get('console', async (request, url) => {
    const visitor = await signInDependencies.visitorOf(request.headers);
    const { oidc, keysSignIn } = signInDependencies;
    const isSignedIn = visitor !== undefined;
    return consolePage(request, url, { isSignedIn, provider: oidc.name, keysSignIn });
  });
  return {
    find(request, path) {
      if (path === '/' || (isConsolePath(path) && wantsHtml(request))) return console;
      if (path === '/graphql') return wantsHtml(request) ? graphiql : undefined;
      if (path.startsWith('/assets/')) return get('asset', () => fileOrNothing(path, request));
      return Object.hasOwn(pages, path) ? pages[path] : undefined;
    },
  };
}

const get = (operation: string, answer: (request: HttpRequest, url: URL) => Promise<HttpAnswer>): SitePage => ({
  operation,
  methods: { GET: ({ request, url }) => answer(request, url) },
});

async function fileOrNothing(address: string, request: HttpRequest): Promise<HttpAnswer> {
  const file = fileAt(address);
  if (!file) throw new DomainError('notFound', `there is nothing at ${address.slice(0, 200)}`);
  return file.answer(request);
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}
