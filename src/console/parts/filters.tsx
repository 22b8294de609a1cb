import { useEffect, useState } from 'preact/hooks';
import type { Content } from './markup.ts';

/** The filter fields of a list. Their values are in the URL, so that a filtered list can be shared and reloaded. */

const inAddress = (name: string) => new URLSearchParams(location.search).get(name) ?? '';

/** A value in the query of the URL; `''` if absent. It follows links to the same page, such as that of the section. */
export function useFilter(name: string): readonly [value: string, set: (value: string) => void] {
  const [value, setValue] = useState(() => inAddress(name));
  useEffect(() => {
    const { pathname } = location;
    const moved = () => location.pathname === pathname && setValue(inAddress(name));
    addEventListener('popstate', moved);
    return () => removeEventListener('popstate', moved);
  }, [name]);
  const set = (next: string) => {
    setValue(next);
    const address = new URL(location.href);
    if (next === '') address.searchParams.delete(name);
    else address.searchParams.set(name, next);
    history.replaceState(history.state, '', address);
  };
  return [value, set];
}

interface DayOptions {
  readonly daysLater?: number;
  /** Whether it is a day in UTC, not of the reader. */
  readonly isUtc?: boolean;
}

/** The beginning of a day that is that many days later; undefined for something that is no date, which an address can have. */
export function momentOf(day: string, { daysLater = 0, isUtc = false }: DayOptions = {}): string | undefined {
  const at = new Date(`${day}T00:00${isUtc ? 'Z' : ''}`);
  if (Number.isNaN(at.getTime())) return undefined;
  if (isUtc) at.setUTCDate(at.getUTCDate() + daysLater);
  else at.setDate(at.getDate() + daysLater);
  return at.toISOString();
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

interface InputProps extends FieldProps {
  readonly type?: 'search' | 'date' | 'text' | 'password' | 'email';
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly autocomplete?: 'off';
}

export function InputField({ label, onChange, type = 'search', ...rest }: InputProps) {
  // Preact has other attributes for each type, so that it takes no union of them.
  const attributes = { ...rest, type: type as 'search' };
  return (
    <label>
      {label} <input maxlength={2000} {...attributes} onInput={({ currentTarget }) => onChange(currentTarget.value)} />
    </label>
  );
}

/** Parameters of the address that are no filter, or that of the first field. */
const OTHERS = new Set(['organization', 'text', 'operation', 'utc']);

type Choices = readonly (readonly [value: string, name: string])[];

interface ChoiceProps extends FieldProps {
  readonly choices: Choices;
  /** More choices, under the names of their groups. */
  readonly groups?: readonly (readonly [name: string, choices: Choices])[];
}

/** A value from the address that is none of the choices, or not yet, is one too. */
export function ChoiceField({ label, value, onChange, choices, groups = [] }: ChoiceProps) {
  const isKnown = [choices, ...groups.map(([, some]) => some)].flat().some(([each]) => each === value);
  return (
    <label>
      {label}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {optionsOf(isKnown ? choices : [...choices, [value, value]])}
        {groups.map(([name, some]) => (
          <optgroup key={name} label={name}>
            {optionsOf(some)}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

const optionsOf = (choices: Choices) =>
  choices.map(([each, name]) => (
    <option key={each} value={each}>
      {name}
    </option>
  ));

interface SegmentsProps extends FieldProps {
  readonly choices: Choices;
}

/** A choice of few values that are all shown. */
export const Segments = ({ label, value, onChange, choices }: SegmentsProps) => (
  <div class="segments" role="group" aria-label={label}>
    {choices.map(([each, name]) => (
      <button key={each} type="button" aria-pressed={each === value} onClick={() => onChange(each)}>
        {name}
      </button>
    ))}
  </div>
);

/** A choice that is made or not, in the address as `yes`. */
export const CheckField = ({ label, value, onChange }: FieldProps) => (
  <label class="check">
    <input
      type="checkbox"
      checked={value !== ''}
      onChange={({ currentTarget }) => onChange(currentTarget.checked ? 'yes' : '')}
    />
    {label}
  </label>
);

interface FiltersProps {
  readonly children: Content;
  /** Whether a phone shows only the first field, and the others on demand or if the address has one. */
  readonly folds?: boolean;
  /** The accessible name, where a page has several. */
  readonly label?: string;
}

export function Filters({ children, folds = false, label }: FiltersProps) {
  const [isOpen, setOpen] = useState(() =>
    [...new URLSearchParams(location.search).keys()].some((name) => !OTHERS.has(name)),
  );
  const className = folds ? `filters folds ${isOpen ? 'open' : ''}` : 'filters';
  return (
    <form class={className} role="search" aria-label={label} onSubmit={(event: Event) => event.preventDefault()}>
      {children}
      {folds && (
        <button type="button" class="button small plain unfold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Hide filters' : 'Filters'}
        </button>
      )}
    </form>
  );
}
