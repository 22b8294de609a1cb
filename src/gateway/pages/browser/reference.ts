// Starts Swagger UI in the browser.
import { organizationHeader } from './organization-choice.ts';

declare const SwaggerUIBundle: (options: object) => void;

const reference = document.querySelector<HTMLElement>('#reference');

interface SwaggerRequest {
  url: string;
  readonly headers: Record<string, string>;
  /** Arguments that the shown curl command begins with. */
  curlOptions?: readonly string[];
}

const AUTHORIZATION = ['-H', 'Authorization: Bearer YOUR_API_KEY'];

/** Parts of the page that Swagger UI has outside of its main part. */
const PARTS = [
  ['.information-container', 'Introduction'],
  ['.schemes-server-container', 'Server and API key'],
] as const;

/**
 * Adds labels and landmarks that Swagger UI lacks, and makes scrollable texts reachable by keyboard. Removes the link in the button
 * that opens an operation, because the button has the same effect.
 */
function makeAccessible(root: HTMLElement): void {
  const give = (selector: string, name: string, value: string) => {
    for (const element of root.querySelectorAll(`${selector}:not([${name}])`)) element.setAttribute(name, value);
  };
  for (const [part, name] of PARTS) {
    give(part, 'role', 'region');
    give(part, 'aria-label', name);
  }
  give('#servers', 'aria-label', 'Server');
  give('textarea', 'aria-label', 'Request body');
  give('.microlight', 'tabindex', '0');
  give('.example', 'tabindex', '0');
  give('.json-schema-2020-12-accordion:has(> .json-schema-2020-12-accordion__children:empty)', 'aria-label', 'Schema');
  for (const select of root.querySelectorAll('[data-param-name] select')) {
    const parameter = select.closest<HTMLElement>('[data-param-name]');
    select.setAttribute('aria-label', parameter?.dataset['paramName'] ?? '');
  }
  for (const link of root.querySelectorAll('.opblock-summary-control a')) link.removeAttribute('href');
}

/** The groups of operations, in a list beside them or above them. */
function showGroups(root: HTMLElement): void {
  const groups = [...root.querySelectorAll<HTMLElement>('.opblock-tag[data-tag]')];
  const list = document.querySelector('#groups ul');
  if (!list || list.childElementCount === groups.length) return;
  list.replaceChildren();
  for (const group of groups) {
    const name = group.dataset['tag'] ?? '';
    const link = document.createElement('a');
    link.href = `#/${encodeURIComponent(name)}`;
    link.textContent = name;
    link.addEventListener('click', () => group.scrollIntoView());
    const item = document.createElement('li');
    item.append(link);
    list.append(item);
  }
}

function followColorScheme(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
}

if (reference) {
  followColorScheme();
  const changed = () => {
    makeAccessible(reference);
    showGroups(reference);
  };
  new MutationObserver(changed).observe(reference, { childList: true, subtree: true });
  SwaggerUIBundle({
    url: '/openapi.json',
    domNode: reference,
    deepLinking: true,
    validatorUrl: null,
    requestInterceptor: (request: SwaggerRequest) => {
      // The document contains the public address. The page can be open under another address, and can send requests only there.
      const { pathname, search } = new URL(request.url, location.href);
      request.url = location.origin + pathname + search;
      Object.assign(request.headers, { ...organizationHeader(), ...request.headers });
      // The cookie of the browser is not in the command that people copy.
      if (!('Authorization' in request.headers)) request.curlOptions = AUTHORIZATION;
      return request;
    },
  });
}
