import { type VNode, options } from 'preact';
import { withOrganization } from './address.ts';

/** What holds for all markup: links stay in the organization of this tab, and texts show characters that change their direction. */
options.vnode = (vnode: { readonly type: unknown; props: unknown }) => {
  const { type, props } = vnode;
  // A text, which has no type. Values of form fields stay as they are.
  if (typeof props === 'string') vnode.props = visibleText(props);
  else if (type === 'a' && hasHref(props)) vnode.props = { ...props, href: withOrganization(props.href) };
};

const hasHref = (props: unknown): props is { readonly href: string } =>
  typeof props === 'object' && props !== null && 'href' in props && typeof props.href === 'string';

/** Characters that change the direction of the text after them, so that a name could look like another one. */
const DIRECTION = /[\u202A-\u202E\u2066-\u2069]/g;

const byNumber = (character: string): string => `[U+${character.codePointAt(0)?.toString(16).toUpperCase()}]`;

/** Shows these characters by their number, such as `[U+202E]`. */
export const visibleText = (text: string): string => text.replaceAll(DIRECTION, byNumber);

/** Shows all invisible characters by their number. For what a person decides about: a model reads them, too. */
export const withoutInvisible = (text: string): string =>
  text.replaceAll(/\p{Default_Ignorable_Code_Point}|\p{Cf}/gu, byNumber);

/** What can be shown. Unlike `ComponentChildren`, it has no other objects, of which nothing would be shown. */
export type Content = VNode | string | number | boolean | null | undefined | readonly Content[];
