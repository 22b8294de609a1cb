import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { html, valueOf } from './html.ts';

/** The filter fields of a list. Their values are in the URL, so that a filtered list can be shared and reloaded. */

/** A value in the query of the URL; `''` if absent. */
export function useFilter(name: string): readonly [value: string, set: (value: string) => void] {
  const [value, setValue] = useState(() => new URLSearchParams(location.search).get(name) ?? '');
  const set = (next: string) => {
    setValue(next);
    const address = new URL(location.href);
    if (next === '') address.searchParams.delete(name);
    else address.searchParams.set(name, next);
    history.replaceState(null, '', address);
  };
  return [value, set];
}

const SETTLED_MS = 250;

/** The value after it has not changed for a moment, so that not every key press sends a request. */
export function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function SearchField({
  label,
  value,
  onChange,
  type = 'search',
}: FieldProps & { readonly type?: string }): VNode {
  const changed = (event: Event) => onChange(valueOf(event));
  return html`<label>${label} <input type=${type} value=${value} onInput=${changed} /></label>`;
}

export function ChoiceField({
  label,
  value,
  onChange,
  choices,
}: FieldProps & { readonly choices: readonly (readonly [value: string, name: string])[] }): VNode {
  const changed = (event: Event) => onChange(valueOf(event));
  return html`<label
    >${label}
    <select value=${value} onChange=${changed}>
      ${choices.map(([each, name]) => html`<option key=${each} value=${each}>${name}</option>`)}
    </select></label
  >`;
}

export function Filters({ children }: { readonly children: unknown }): VNode {
  return html`<form class="filters" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
    ${children}
  </form>`;
}
