// Keeps the fragment of the requested page, such as `#event-7`, which browsers do not send: it is moved to the form, or to the link.
const { hash } = location;
const next = document.querySelector<HTMLInputElement>('input[name=next]');
const link = document.querySelector<HTMLAnchorElement>('a.next');

const provider = document.querySelector<HTMLAnchorElement>('a.provider');

if (hash !== '' && provider) {
  const address = new URL(provider.href);
  const wanted = address.searchParams.get('next') ?? '/';
  if (!wanted.includes('#')) address.searchParams.set('next', wanted + hash);
  provider.href = address.href;
}
if (hash !== '' && next && !next.value.includes('#')) next.value += hash;
if (hash !== '' && link && link.hash === '') link.hash = hash;
