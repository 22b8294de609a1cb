import type { VNode } from 'preact';
import { useId, useLayoutEffect, useState } from 'preact/hooks';
import { useFormState } from './form.tsx';
import type { Content } from './markup.ts';

/** The fields of a form: a label, the control, help, and the faults of the API. */

interface FieldProps {
  /** The position of the value in the input of the mutation, which is the name of the value in the form. */
  readonly name: string;
  readonly label: Content;
  readonly help?: Content;
}

interface Control<Value> {
  readonly id: string;
  readonly value: Value;
  readonly set: (value: Value) => void;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string;
}

/** The attributes of the control of a field, whose name tells the type of its value, and what is shown below it. */
export function useField<Value>(name: string, help?: Content): readonly [control: Control<Value>, below: VNode] {
  const { valueOf: valueIn, set, faults, meanwhile, names } = useFormState();
  const id = useId();
  useLayoutEffect(() => {
    names.add(name);
    return () => void names.delete(name);
  }, [names, name]);
  const own = faults.filter(({ field }) => field === name);
  const now = meanwhile(name);
  const below = (
    <span class="field-help" id={`${id}-help`}>
      {own.map(({ path, message }) => (
        <span class="fault">{withPosition(path, name, message)}</span>
      ))}
      {now !== undefined && <span class="changed">Changed meanwhile to: {textOf(now)}</span>}
      {help && <span class="soft">{help}</span>}
    </span>
  );
  const control = {
    id,
    value: valueIn(name) as Value,
    set: (value: Value) => set(name, value),
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

/** More than any text of the API may have. */
const MAX_TEXT = 1_000_000;

/** Whether a text begins with letters from right to left. `dir="auto"` takes a browser minutes for a megabyte. */
const isRightToLeft = (text: string) => /^\P{L}*[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC]/u.test(text.slice(0, 200));

/** What is beyond the bound of the API is cut, which the field says. */
export function TextField({ name, label, help, isRequired = false, type, placeholder, rows }: TextFieldProps) {
  const max = useFormState().bounds[name] ?? MAX_TEXT;
  const [isCut, setCut] = useState(false);
  const [{ value, set, ...rest }, below] = useField<string>(name, help);
  // Preact has other attributes for each type, so that it takes no union of them.
  const inputType = (type ?? 'text') as 'text';
  const shared = {
    ...rest,
    value,
    placeholder,
    'aria-required': isRequired,
    autocomplete: 'off',
    dir: isRightToLeft(value) ? 'rtl' : undefined,
    // It counts code units, of which a code point has at most two, and cuts before what is drawn as one.
    maxlength: 2 * max + 100,
    onInput: ({ currentTarget }: { readonly currentTarget: { value: string } }) => {
      // The API takes spaces as a text, and nobody could see or click such a title.
      const typed = isRequired && currentTarget.value.trim() === '' ? '' : currentTarget.value;
      const kept = typed.length > max ? Array.from(typed).slice(0, max).join('') : typed;
      if (kept !== currentTarget.value) currentTarget.value = kept;
      setCut(kept !== typed);
      set(kept);
    },
  } as const;
  return (
    <div class="field">
      <label for={rest.id}>
        {label}
        {!isRequired && <span class="soft"> (optional)</span>}
      </label>
      {rows === undefined ? <input type={inputType} {...shared} /> : <textarea rows={rows} {...shared} />}
      {isCut && (
        <span class="fault" role="alert">
          Only the first {max.toLocaleString()} characters were kept.
        </span>
      )}
      {below}
    </div>
  );
}

interface ConfirmFieldProps {
  readonly name: string;
  /** What to do, before the text. */
  readonly words?: string;
  readonly text: string | null | undefined;
}

/** A field in which a text is typed again, to confirm a deletion. */
export function ConfirmField({ name, words = 'Type', text }: ConfirmFieldProps) {
  const label = (
    <>
      {words} <code>{text}</code>
    </>
  );
  return <TextField name={name} label={label} isRequired />;
}

interface SelectFieldProps extends FieldProps {
  readonly choices: readonly (readonly [value: string, name: string])[];
  readonly isRequired?: boolean;
}

export function SelectField({ name, label, help, choices, isRequired = true }: SelectFieldProps) {
  const [{ value, set, ...rest }, below] = useField<string>(name, help);
  return (
    <div class="field">
      <label for={rest.id}>
        {label}
        {!isRequired && <span class="soft"> (optional)</span>}
      </label>
      <select {...rest} value={value} onChange={({ currentTarget }) => set(currentTarget.value)}>
        {choices.map(([each, shown]) => (
          <option key={each} value={each}>
            {shown}
          </option>
        ))}
      </select>
      {below}
    </div>
  );
}

export function CheckField({ name, label, help }: FieldProps) {
  const [{ value, set, ...rest }, below] = useField<boolean>(name, help);
  return (
    <div class="field">
      <label class="check">
        <input type="checkbox" {...rest} checked={value} onChange={({ currentTarget }) => set(currentTarget.checked)} />
        {label}
      </label>
      {below}
    </div>
  );
}

/** A list of values, chosen with a checkbox each. */
export function ChecksField({ name, label, choices, help }: SelectFieldProps) {
  const [{ value, set, id, ...rest }, below] = useField<readonly string[]>(name, help);
  const chosen = new Set(value);
  const toggle = (choice: string) => {
    if (!chosen.delete(choice)) chosen.add(choice);
    set(choices.flatMap(([each]) => (chosen.has(each) ? [each] : [])));
  };
  return (
    <fieldset class="field" id={id} tabindex={-1} aria-describedby={rest['aria-describedby']}>
      <legend>{label}</legend>
      {choices.map(([choice, text]) => (
        <label key={choice} class="check">
          <input type="checkbox" checked={chosen.has(choice)} onChange={() => toggle(choice)} />
          {text}
        </label>
      ))}
      {below}
    </fieldset>
  );
}
