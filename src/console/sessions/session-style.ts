/** Adds the style of the parts of a session that are loaded after its timeline. */
export function addSessionStyle(): void {
  const href = document.querySelector<HTMLElement>('#console')?.dataset['sessionStyle'];
  if (href === undefined || document.querySelector('link[data-session]')) return;
  const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href });
  link.dataset['session'] = '';
  document.head.append(link);
}
