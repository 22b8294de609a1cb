import htm from 'htm';
import { Fragment, type VNode, h } from 'preact';

/** Markup as a tagged template, because this code runs in the browser without a build step. Values are text or components, never HTML. */
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => VNode = (strings, ...values) => {
  const node = bound(strings, ...values);
  return Array.isArray(node) ? h(Fragment, null, node) : node;
};

// The types of the package describe its CommonJS form; browsers load its ES module, whose default export this is.
const { bind } = htm as unknown as {
  readonly bind: (create: typeof h) => (strings: TemplateStringsArray, ...values: unknown[]) => VNode | VNode[];
};
const bound = bind.call(htm, h);

/** The value of the field that an event comes from. */
export const valueOf = ({ target }: Event): string => (target as HTMLInputElement | HTMLSelectElement).value;
