import type { ComponentProps } from 'preact';

/** A small button, which does not send the form that it is in. */
export const Button = (props: ComponentProps<'button'>) => (
  <button type="button" class="button small plain" {...props} />
);
