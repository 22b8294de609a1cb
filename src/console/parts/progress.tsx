import { useEffect, useState } from 'preact/hooks';
import { loading } from './api.ts';

/** What is quicker needs no sign. */
const DELAY_MS = 150;

/** A thin bar at the top while something is loaded; the page says so in words. */
export function Progress() {
  const [isLoading, setLoading] = useState(false);
  const [isShown, setShown] = useState(false);
  useEffect(() => loading.listen(setLoading), []);
  useEffect(() => {
    setShown(false);
    const timer = isLoading ? setTimeout(() => setShown(true), DELAY_MS) : undefined;
    return () => clearTimeout(timer);
  }, [isLoading]);
  return isShown && <div class="progress" aria-hidden="true" />;
}
