// Keeps the fragment of the requested page, such as `#event-7`, which browsers do not send: it is moved to the form, or to the link.
const { hash } = location;
const next = document.querySelector<HTMLInputElement>('input[name=next]');
const link = document.querySelector<HTMLAnchorElement>('a.next');

if (hash !== '' && next && !next.value.includes('#')) next.value += hash;
if (hash !== '' && link && link.hash === '') link.hash = hash;
