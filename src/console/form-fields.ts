import type { ComponentChildren, VNode } from 'preact';
import { useId, useLayoutEffect } from 'preact/hooks';
import { useFormState } from './form.ts';
import { html, valueOf } from './html.ts';

/** The fields of a form: a label, the control, help, and the faults of the API. */

interface FieldProps {
  /** The position of the value in the input of the mutation, which is the name of the value in the form. */
  readonly name: string;
  readonly label: string;
  readonly help?: ComponentChildren;
}

interface Control {
  readonly id: string;
  readonly value: unknown;
  readonly set: (value: unknown) => void;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string;
}

/** The attributes of the control of a field, and what is shown below it. */
export function useField(name: string, help?: ComponentChildren): readonly [control: Control, below: VNode] {
  const { valueOf: valueIn, set, faults, meanwhile, names } = useFormState();
  const id = useId();
  useLayoutEffect(() => {
    names.add(name);
    return () => void names.delete(name);
  }, [names, name]);
  const own = faults.filter(({ field }) => field === name);
  const now = meanwhile(name);
  const below = html`<span class="field-help" id=${`${id}-help`}>
    ${own.map(({ path, message }) => html`<span class="fault">${withPosition(path, name, message)}</span>`)}
    ${now !== undefined && html`<span class="changed">Changed meanwhile to: ${textOf(now)}</span>`}
    ${help && html`<span class="soft">${help}</span>`}
  </span>`;
  const control = {
    id,
    value: valueIn(name),
    set: (value: unknown) => set(name, value),
    'aria-invalid': own.length > 0,
    'aria-describedby': `${id}-help`,
  };
  return [control, below];
}

/** A fault within the value of a field, such as an option: its position, counted from 1 as people do. */
function withPosition(path: string, name: string, message: string): string {
  const rest = path.slice(name.length + 1).replaceAll(/\d+/g, (index) => String(Number(index) + 1));
  return rest === '' ? message : `${rest.replaceAll('.', ' ')}: ${message}`;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} items`;
  return typeof value === 'string' ? value || '(nothing)' : JSON.stringify(value);
}

interface TextFieldProps extends FieldProps {
  readonly isRequired?: boolean;
  readonly type?: 'text' | 'url' | 'email' | 'password' | 'date';
  readonly placeholder?: string;
  /** The number of lines, for longer texts. */
  readonly rows?: number;
}

export function TextField({ name, label, help, isRequired = false, type, placeholder, rows }: TextFieldProps): VNode {
  const [{ value, set, ...rest }, below] = useField(name, help);
  const changed = (event: Event) => set(valueOf(event));
  const shared = { ...rest, value, placeholder, onInput: changed, 'aria-required': isRequired, autocomplete: 'off' };
  return html`<div class="field">
    <label for=${rest.id}>${label}${!isRequired && html` <span class="soft">(optional)</span>`}</label>
    ${
      rows === undefined
        ? html`<input type=${type ?? 'text'} dir="auto" ...${shared} />`
        : html`<textarea rows=${rows} dir="auto" ...${shared} />`
    }
    ${below}
  </div>`;
}

interface SelectFieldProps extends FieldProps {
  readonly choices: readonly (readonly [value: string, name: string])[];
}

export function SelectField({ name, label, help, choices }: SelectFieldProps): VNode {
  const [{ value, set, ...rest }, below] = useField(name, help);
  return html`<div class="field">
    <label for=${rest.id}>${label}</label>
    <select ...${rest} value=${value} onChange=${(event: Event) => set(valueOf(event))}>
      ${choices.map(([each, shown]) => html`<option key=${each} value=${each}>${shown}</option>`)}
    </select>
    ${below}
  </div>`;
}

export function CheckField({ name, label, help }: FieldProps): VNode {
  const [{ value, set, ...rest }, below] = useField(name, help);
  const changed = ({ target }: Event) => set((target as HTMLInputElement).checked);
  return html`<div class="field">
    <label class="check"
      ><input type="checkbox" ...${rest} checked=${value === true} onChange=${changed} />${label}</label
    >
    ${below}
  </div>`;
}
