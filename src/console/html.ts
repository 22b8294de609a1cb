import htm from 'htm';
import { type ComponentChild, Fragment, type VNode, h } from 'preact';
import { withOrganization } from './address.ts';

/** Markup as a tagged template, because this code runs in the browser without a build step. Values are text or components, never HTML. */
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => VNode = (strings, ...values) => {
  const node = bound(strings, ...values);
  return Array.isArray(node) ? h(Fragment, null, node) : node;
};

// The types of the package describe its CommonJS form; browsers load its ES module, whose default export this is.
const { bind } = htm as unknown as {
  readonly bind: (create: typeof h) => (strings: TemplateStringsArray, ...values: unknown[]) => VNode | VNode[];
};
const create = (type: Parameters<typeof h>[0], props: object | null, ...children: ComponentChild[]): VNode =>
  h(type as string, type === 'a' ? linkProps(props) : props, ...children.map(withVisibleControls));
const bound = bind.call(htm, create as typeof h);

/** Links stay in the organization of this tab. */
function linkProps(props: object | null): object | null {
  if (!props || !('href' in props) || typeof props.href !== 'string') return props;
  return { ...props, href: withOrganization(props.href) };
}

/** Characters that change the direction of the text after them, so that a name could look like another one. */
const DIRECTION = /[\u202A-\u202E\u2066-\u2069]/g;

/** Shows these characters in texts by their number, such as `[U+202E]`. Values of form fields stay as they are. */
function withVisibleControls(child: ComponentChild): ComponentChild {
  if (Array.isArray(child)) return child.map(withVisibleControls);
  return typeof child === 'string' ? visibleText(child) : child;
}

export function visibleText(text: string): string {
  return text.replaceAll(DIRECTION, (character) => `[U+${character.codePointAt(0)?.toString(16).toUpperCase()}]`);
}

/** The value of the field that an event comes from. */
export const valueOf = ({ target }: Event): string => (target as HTMLInputElement | HTMLSelectElement).value;
