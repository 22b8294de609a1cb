import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { useField } from '../parts/form-fields.tsx';
import { useFormState } from '../parts/form.tsx';
import type { Answers } from '../generated/operation-types.ts';

type Property = NonNullable<Answers['EventDefinition']['eventDefinition']>['properties'][number];
export type Option = Property['options'][number];

export const EMPTY_OPTION: Option = { label: '', value: '', description: null, displayOrder: null, hidden: false };

/** An enumeration has up to 5,000 options; all rows at once would be slow. */
const SHOWN = 50;
const SHOWN_MORE = 500;

/** The options of an enumeration, one row each, each with its own faults. */
export function OptionsField() {
  const { faults } = useFormState();
  const [control, below] = useField<readonly Option[]>('options');
  const [shown, setShown] = useState(SHOWN);
  const { value: options, set } = control;
  const change = (index: number, next: Partial<Option>) =>
    set(options.map((option, at) => (at === index ? { ...option, ...next } : option)));
  const fields = useRef<HTMLFieldSetElement>(null);
  /** The row that gets the focus: a new one, or that in place of a removed one. */
  const wanted = useRef<number>(undefined);
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    const rows = fields.current?.querySelectorAll('.option') ?? [];
    const row = rows[Math.min(wanted.current, rows.length - 1)] ?? fields.current;
    row?.querySelector<HTMLElement>('input, button')?.focus();
    wanted.current = undefined;
  }, [options.length]);
  const add = () => {
    wanted.current = options.length;
    set([...options, EMPTY_OPTION]);
    setShown(Math.max(shown, options.length + 1));
  };
  // The API reports a value that occurs twice for the whole list.
  const isInvalid = faults.some(({ path }) => path === 'options');
  const valueSent = (option: Option) => option.value || option.label;
  const isRepeated = (option: Option, index: number) =>
    isInvalid && options.findIndex((each) => valueSent(each) === valueSent(option)) < index;
  const row = (option: Option, index: number) => (
    <OptionRow
      key={index}
      option={option}
      index={index}
      isRepeated={isRepeated(option, index)}
      describedBy={control['aria-describedby']}
      onChange={(next: Partial<Option>) => change(index, next)}
      onRemove={() => {
        wanted.current = index;
        set(options.filter((_, at) => at !== index));
      }}
    />
  );
  return (
    <fieldset class="options" ref={fields} tabindex={-1} data-invalid={isInvalid}>
      <legend>Options</legend>
      {options.slice(0, shown).map(row)} {below}
      <div class="row">
        <Button onClick={add}>Add an option</Button>
        {options.length > shown && (
          <Button onClick={() => setShown(shown + SHOWN_MORE)}>Show more of {options.length} options</Button>
        )}
      </div>
      <p class="soft">
        The value is what occurrences contain; left empty, it is the label. Hide an option rather than remove it if
        occurrences have it.
      </p>
    </fieldset>
  );
}

interface OptionRowProps {
  readonly option: Option;
  readonly index: number;
  /** Whether an earlier option has the same value, and the API has refused that. */
  readonly isRepeated: boolean;
  readonly describedBy: string | undefined;
  readonly onChange: (next: Partial<Option>) => void;
  readonly onRemove: () => void;
}

function OptionRow({ option, index, isRepeated, describedBy, onChange, onRemove }: OptionRowProps) {
  const { faults } = useFormState();
  const cell = (name: 'label' | 'value', text: string) => (
    <input
      aria-label={`${text} of option ${index + 1}`}
      aria-invalid={faults.some(({ path }) => path === `options.${index}.${name}`) || (name === 'value' && isRepeated)}
      aria-describedby={describedBy}
      dir="auto"
      maxlength={2000}
      placeholder={(name === 'value' && option.label) || text}
      value={option[name]}
      onInput={({ currentTarget }) => onChange({ [name]: currentTarget.value })}
    />
  );
  return (
    <div class="option">
      {cell('label', 'Label')}
      {cell('value', 'Value')}
      <label class="check">
        <input
          type="checkbox"
          aria-label={`Option ${index + 1} is hidden`}
          checked={option.hidden}
          onChange={() => onChange({ hidden: !option.hidden })}
        />
        Hidden
      </label>
      <Button aria-label={`Remove option ${index + 1}`} onClick={onRemove}>
        Remove
      </Button>
    </div>
  );
}
