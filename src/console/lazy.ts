import type { ComponentType, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.ts';

/**
 * A component whose code is loaded when it is first shown, so that pages are not larger for what few readers open.
 * @param waiting what is shown meanwhile
 */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  waiting: VNode | null = html`<p class="soft" role="status">Loading…</p>`,
): (props: Props) => VNode | null {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props): VNode | null {
    const [state, setState] = useState<'loading' | 'ready' | 'failed'>(loaded ? 'ready' : 'loading');
    useEffect(() => {
      if (loaded) return;
      load().then(
        (component) => {
          loaded = component;
          setState('ready');
        },
        () => setState('failed'),
      );
    }, []);
    if (loaded) return html`<${loaded} ...${props} />`;
    return state === 'failed'
      ? html`<p class="fault" role="alert">This part cannot be loaded. Reload the page.</p>`
      : waiting;
  };
}
