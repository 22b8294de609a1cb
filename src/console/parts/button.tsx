import type { ComponentProps } from 'preact';

/** A small button, which does not send the form that it is in. */
export function Button(props: ComponentProps<'button'>) {
  return <button type="button" class="button small plain" {...props} />;
}
