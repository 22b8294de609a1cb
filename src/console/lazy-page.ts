import type { ComponentType, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.ts';
import { Empty, Loading } from './parts.ts';

interface LazyPageProps<Props extends object> {
  /** Imports the page. The others load no code of a page that nobody opens. */
  readonly load: () => Promise<ComponentType<Props>>;
  readonly props: Props;
}

/** A page whose code is loaded when it is opened. */
export function LazyPage<Props extends object>({ load, props }: LazyPageProps<Props>): VNode {
  const [loaded, setLoaded] = useState<{ readonly Page: ComponentType<Props> }>();
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    load().then(
      (Page) => setLoaded({ Page }),
      () => setFailed(true),
    );
  }, []);
  if (hasFailed) return html`<${Empty}>The page cannot be loaded. Reload it.<//>`;
  return loaded ? html`<${loaded.Page} ...${props} />` : html`<${Loading} />`;
}
