// Starts GraphiQL in the browser, with the published schema, the examples, and the function that sends requests.
import { type Example, LATEST, examplesIn } from './graphiql-examples.ts';
import { inOrganization, organizationHeader } from './organization-choice.ts';
import { type FetcherParams, request, subscribe } from './graphiql-requests.ts';
import { openedExample } from './graphiql-variables.ts';

type Element = object | string | null;
type Component = (props: object) => Element;

/** An editor of CodeMirror 5. */
interface Editor {
  getValue(): string;
  getScrollerElement(): HTMLElement;
  setValue(text: string): void;
  setOption(name: 'screenReaderLabel' | 'lineWrapping', value: string | boolean): void;
}

declare const React: {
  readonly createElement: (
    type: string | Component,
    props: object | null,
    ...children: (Element | Element[])[]
  ) => Element;
};
declare const ReactDOM: { createRoot(element: HTMLElement): { render(element: Element): void } };
interface Definition {
  readonly kind: string;
  readonly operation?: string;
  readonly name?: { readonly value: string };
}

declare const GraphiQL: Component & {
  readonly React: {
    useEditorContext(options: {
      nonNull: true;
    }): Readonly<Record<'queryEditor' | 'variableEditor' | 'headerEditor' | 'responseEditor', Editor | null>>;
    usePluginContext(): { setVisiblePlugin(plugin: object | null): void } | null;
  };
  readonly Logo: Component;
  readonly GraphQL: {
    buildSchema(text: string): object;
    parse(text: string): { readonly definitions: readonly Definition[] };
  };
};

const { createElement: h } = React;
const root = document.querySelector<HTMLElement>('#graphiql');
const EXAMPLES = examplesIn(await fetch(root?.dataset['examples'] ?? '').then((response) => response.text()));
const address = new URL(location.href);
const phone = matchMedia('(max-width: 700px)');

function fetcher(params: FetcherParams, { headers }: { readonly headers?: Readonly<Record<string, string>> } = {}) {
  const sent = { ...organizationHeader(), ...headers };
  const operation = operationOf(params);
  const asked = { ...params, operationName: operation?.name?.value };
  return operation?.operation === 'subscription' ? subscribe(asked, sent) : request(asked, sent);
}

/** The operation to run. GraphiQL updates operation names with a delay, so the requested name may not exist any more. */
function operationOf({ query, operationName }: FetcherParams): Definition | undefined {
  try {
    const { definitions } = GraphiQL.GraphQL.parse(query);
    const operations = definitions.filter(({ kind }) => kind === 'OperationDefinition');
    return operations.find(({ name }) => name?.value === operationName) ?? operations.at(0);
  } catch {
    // The gateway reports the syntax error.
    return undefined;
  }
}

/** Storage for GraphiQL without tabs. The stored state of tabs is not read. */
const storage = {
  get length() {
    return localStorage.length;
  },
  getItem(key: string): string | null {
    if (key.endsWith(':tabState')) return null;
    // The default width of the left pane, relative to the editors.
    return localStorage.getItem(key) ?? (key.endsWith(':docExplorerFlex') ? '0.28' : null);
  },
  setItem: (key: string, value: string) => {
    if (!key.endsWith(':tabState')) localStorage.setItem(key, value);
  },
  removeItem: (key: string) => localStorage.removeItem(key),
  clear: () => localStorage.clear(),
};

/** Longer addresses may be refused by proxies. GraphiQL stores the text itself too. */
const MAX_ADDRESS = 6000;

/** Writes the operation into the address, so that a reload or a shared link opens it again. */
function remember(name: 'query' | 'variables', text: string): void {
  if (text.trim() === '') address.searchParams.delete(name);
  else address.searchParams.set(name, text);
  const { href } = inOrganization(address);
  const shown = href.length > MAX_ADDRESS ? inOrganization(new URL(address.pathname, address)).href : href;
  history.replaceState(null, '', shown);
  const next = document.querySelector<HTMLInputElement>('input[name=next]');
  if (next) next.value = shown.length > 2000 ? '/graphql' : address.pathname + address.search;
}

/** An example as it can be run in the workspace of whoever is signed in. */
async function openable(example: Example): Promise<Example> {
  if (!example.fills || !document.querySelector('form[action="/sign-out"]')) return example;
  const { data } = await request({ query: LATEST }, organizationHeader());
  return openedExample(example, data?.viewer?.organization, EXAMPLES);
}

function ExamplePane(): Element {
  const { queryEditor, variableEditor } = GraphiQL.React.useEditorContext({ nonNull: true });
  const plugins = GraphiQL.React.usePluginContext();
  const open = async (example: Example) => {
    const { query, variables = {} } = await openable(example);
    queryEditor?.setValue(query);
    variableEditor?.setValue(JSON.stringify(variables, null, 2));
    if (phone.matches) plugins?.setVisiblePlugin(null);
  };
  const nouns = [...new Set(EXAMPLES.map(({ noun }) => noun))];
  return h(
    'section',
    { className: 'examples', 'aria-label': 'Examples' },
    h('div', { className: 'graphiql-doc-explorer-title' }, 'Examples'),
    nouns.map((noun) =>
      h(
        'div',
        { key: noun, className: 'examples-noun' },
        h('h2', null, noun),
        h(
          'ul',
          null,
          EXAMPLES.filter((example) => example.noun === noun).map((example) =>
            h(
              'li',
              { key: example.name },
              h('button', { type: 'button', onClick: () => void open(example) }, example.name),
            ),
          ),
        ),
      ),
    ),
  );
}

/** The current text of the operation. */
let currentOperation = (): string | undefined => undefined;

/** Sets options of the editors: labels for screen readers, scrolling by keyboard, and line wrapping. It renders nothing. */
function EditorOptions(): Element {
  const { queryEditor, variableEditor, headerEditor, responseEditor } = GraphiQL.React.useEditorContext({
    nonNull: true,
  });
  const names = [
    [queryEditor, 'Operation'],
    [variableEditor, 'Variables'],
    [headerEditor, 'Headers'],
    [responseEditor, 'Answer'],
  ] as const;
  for (const [editor, name] of names) {
    editor?.setOption('screenReaderLabel', name);
    if (editor) editor.getScrollerElement().tabIndex = 0;
  }
  queryEditor?.setOption('lineWrapping', true);
  currentOperation = () => queryEditor?.getValue();
  return null;
}

const examplesPlugin = {
  title: 'Examples',
  icon: () =>
    h(
      'svg',
      { height: '1em', viewBox: '0 0 20 20', fill: 'none', stroke: 'currentColor', strokeWidth: 1.5 },
      h('path', { d: 'M3 4h14M3 8h9M3 12h14M3 16h6', strokeLinecap: 'round' }),
    ),
  content: ExamplePane,
};

async function start(): Promise<void> {
  if (!root) return;
  const schema = await fetch('/schema.graphql').then((response) => response.text());
  document.querySelector('form.key')?.addEventListener('submit', () => remember('query', currentOperation() ?? ''));
  const given = {
    ...(address.searchParams.has('query') && { query: address.searchParams.get('query') }),
    ...(address.searchParams.has('variables') && { variables: address.searchParams.get('variables') }),
  };
  ReactDOM.createRoot(root).render(
    h(
      GraphiQL,
      {
        fetcher,
        schema: GraphiQL.GraphQL.buildSchema(schema),
        storage,
        plugins: [examplesPlugin],
        visiblePlugin: phone.matches ? undefined : examplesPlugin,
        defaultQuery: EXAMPLES[0]?.query,
        disableTabs: true,
        // Headers can contain an API key, which must not be stored in the browser.
        shouldPersistHeaders: false,
        showPersistHeadersSettings: false,
        onEditQuery: (text: string) => remember('query', text),
        onEditVariables: (text: string) => remember('variables', text),
        ...given,
      },
      h(GraphiQL.Logo, null, h(EditorOptions, null)),
    ),
  );
}

void start();
