import { createContext } from 'preact';
import type { Content } from './markup.ts';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { TEXT_BOUNDS } from '../generated/text-bounds.ts';
import { Button } from './button.tsx';
import type { Answer } from './api.ts';
import { confirmDone } from './notices.tsx';

/** Forms that show the faults of the API at their fields. `form-fields.ts` has the fields. */

/** A fault of the input. `path` is its position in the input, such as `options.0.value`; empty for none. */
interface FormFault {
  readonly path: string;
  readonly message: string;
  /** The name of the field that shows it; undefined if the form has none. */
  readonly field?: string | undefined;
}

type Result = { readonly __typename: string } | null;
/** The payload of the mutation of an answer. */
export type PayloadOf<Data> = Extract<NonNullable<Data[keyof Data]>, { readonly __typename: `${string}Payload` }>;

interface Refusal {
  readonly message?: string;
  readonly reason?: string;
  readonly path?: readonly string[] | null;
  readonly faults?: readonly { readonly path: readonly string[]; readonly message: string }[];
}

/** The result of the only mutation of a document. */
function resultOf(answer: Answer<object>): (Refusal & { readonly __typename: string }) | null {
  const [result] = Object.values(answer.data ?? {}) as Result[];
  return result ?? null;
}

const CHANGED_MEANWHILE =
  'Somebody else has changed this since you opened the form. What you typed is still here, and the new values are shown below their fields. Save again to keep yours.';

function faultsIn(answer: Answer<object>, reasonWords: ReasonWords): FormFault[] {
  const { message, reason, path, faults } = resultOf(answer) ?? {};
  if (faults && faults.length > 0) return faults.map((fault) => ({ ...fault, path: fault.path.join('.') }));
  const words = reason && (reason === 'CHANGED_MEANWHILE' ? CHANGED_MEANWHILE : reasonWords[reason]);
  if (words) return [{ path: '', message: words }];
  if (message !== undefined) {
    const at = path?.join('.') ?? '';
    // At its field, the message needs no name.
    return [{ path: at, message: at !== '' && message.startsWith(`${at}: `) ? message.slice(at.length + 2) : message }];
  }
  if (answer.faults.length === 0) return [{ path: '', message: 'The gateway did not answer. Try again.' }];
  return answer.faults.map((fault) => ({ path: '', message: fault.message }));
}

/** What a form sends, besides its values. */
export interface Sending<Values> {
  /** Makes a repetition of the same values safe. */
  readonly idempotencyKey: string;
  /** The version of the object that the user has seen. */
  readonly expectedUpdatedAt: string | undefined;
  /** The values that the user has changed. */
  readonly changed: Partial<Values>;
}

/** What a conflict means in the console, by its reason. */
type ReasonWords = Readonly<Record<string, string>>;

interface FormOptions<Values, Data extends object> {
  readonly initial: Values;
  /** The mutation whose bounds the texts have. */
  readonly boundsOf?: keyof typeof TEXT_BOUNDS;
  readonly send: (values: Values, sending: Sending<Values>) => Promise<Answer<Data>>;
  readonly onDone: (payload: PayloadOf<Data>) => void;
  /** The object as it is now, for forms that change one: its version and the values of the fields. */
  readonly current?: { readonly updatedAt: string; readonly values: Values };
  /** Called when the object was changed by somebody else, to load it again. */
  readonly onConflict?: () => void;
  /** Words for conflicts whose message is for programs. */
  readonly reasonWords?: ReasonWords;
}

export interface FormState {
  /** How many characters the API takes in a text, by the name of the field. */
  readonly bounds: Readonly<Record<string, number>>;
  readonly valueOf: (name: string) => unknown;
  readonly set: (name: string, value: unknown) => void;
  readonly faults: readonly FormFault[];
  /** The value that somebody else has given a field meanwhile; undefined if none. */
  readonly meanwhile: (name: string) => unknown;
  readonly names: Set<string>;
  readonly isBusy: boolean;
  readonly isChanged: boolean;
  readonly submit: () => Promise<void>;
}

/** The state of a form: its values, what is sent, and the faults of the last answer. */
export function useForm<Values extends object, Data extends object>(
  options: FormOptions<Values, Data>,
): FormState & { readonly values: Values } {
  const { initial, boundsOf, send, onDone, current, onConflict, reasonWords = {} } = options;
  const [first] = useState(initial);
  const [values, setValues] = useState(initial);
  const [faults, setFaults] = useState<readonly FormFault[]>([]);
  const [isBusy, setBusy] = useState(false);
  const isSending = useRef(false);
  const seen = useRef(current?.updatedAt);
  const [isConflicted, setConflicted] = useState(false);
  const attempt = useRef({ text: '', key: '' });
  const names = useRef(new Set<string>()).current;
  const changed = changesOf(first, values);
  const submit = async () => {
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    if (isConflicted) seen.current = current?.updatedAt;
    const expectedUpdatedAt = seen.current;
    const text = JSON.stringify([values, expectedUpdatedAt]);
    if (attempt.current.text !== text) attempt.current = { text, key: randomKey() };
    const answer = await send(values, { idempotencyKey: attempt.current.key, expectedUpdatedAt, changed });
    isSending.current = false;
    setBusy(false);
    const result = resultOf(answer);
    if (result?.__typename.endsWith('Payload')) {
      attempt.current = { text: '', key: '' };
      setFaults([]);
      onDone(result as PayloadOf<Data>);
      // The form says that its object was changed.
      return current && Object.keys(changed).length === 0 ? confirmDone('Nothing was changed.') : undefined;
    }
    if (result?.reason === 'CHANGED_MEANWHILE') {
      setConflicted(true);
      onConflict?.();
    }
    setFaults(faultsIn(answer, reasonWords).map((fault) => ({ ...fault, field: fieldOf(fault.path, names) })));
  };
  return {
    values,
    bounds: boundsOf ? TEXT_BOUNDS[boundsOf] : {},
    valueOf: (name) => Reflect.get(values, name),
    set: (name, value) => setValues((before) => ({ ...before, [name]: value })),
    faults,
    meanwhile: (name) => {
      const now: unknown = current && isConflicted ? Reflect.get(current.values, name) : undefined;
      return isSame(now, Reflect.get(first, name)) ? undefined : now;
    },
    names,
    isBusy,
    isChanged: Object.keys(changed).length > 0,
    submit,
  };
}

/** Values are texts, flags and lists of plain objects. */
const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

function changesOf<Values extends object>(before: Values, after: Values): Partial<Values> {
  const changed = Object.entries(after).filter(([name, value]) => !isSame(value, Reflect.get(before, name)));
  return Object.fromEntries(changed) as Partial<Values>;
}

/** The name of the field that contains a position. */
function fieldOf(path: string, names: ReadonlySet<string>): string | undefined {
  const parts = path.split('.');
  for (let length = parts.length; length > 0; length--) {
    const name = parts.slice(0, length).join('.');
    if (names.has(name)) return name;
  }
  return undefined;
}

/** `crypto.randomUUID` exists over HTTPS only. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-');

const FormContext = createContext<FormState | undefined>(undefined);

/** The form of a field. */
export function useFormState(): FormState {
  const form = useContext(FormContext);
  if (!form) throw new Error('a field needs a form');
  return form;
}

/** What has the focus if no single control is faulty. */
const FAULTY = '[data-invalid=true], .form-faults';

interface FormProps {
  readonly form: FormState;
  /** The text of the button. */
  readonly submit: string;
  readonly isDanger?: boolean;
  /** Whether the button does nothing yet, for a confirmation that is not complete. */
  readonly isBlocked?: boolean;
  readonly cancel?: string;
  readonly onCancel?: (event: Event) => void;
  readonly children?: Content;
}

export function Form({ form, submit, isDanger, isBlocked = false, cancel, onCancel, children }: FormProps) {
  const element = useRef<HTMLFormElement>(null);
  const { faults, isBusy } = form;
  useLayoutEffect(() => {
    if (faults.length === 0) return;
    const { current } = element;
    (
      current?.querySelector<HTMLElement>('[aria-invalid=true]') ?? current?.querySelector<HTMLElement>(FAULTY)
    )?.focus();
  }, [faults]);
  const others = faults.filter(({ field }) => field === undefined);
  const sent = (event: Event) => {
    event.preventDefault();
    if (!isBlocked) void form.submit();
  };
  return (
    <form class="form" ref={element} noValidate aria-busy={isBusy} onSubmit={sent}>
      {others.length > 0 && (
        <div class="notice form-faults" role="alert" tabindex={-1}>
          {others.map(({ path, message }) => (
            <p>{path === '' ? message : `${path}: ${message}`}</p>
          ))}
        </div>
      )}
      <FormContext.Provider value={form}>{children}</FormContext.Provider>
      <div class="row form-end">
        <button class={`button small ${isDanger ? 'danger' : ''}`} aria-disabled={isBusy || isBlocked}>
          {isBusy ? 'Sending…' : submit}
        </button>
        {onCancel && <Button onClick={onCancel}>{cancel}</Button>}
      </div>
    </form>
  );
}

interface FormDialogProps extends Omit<FormProps, 'onCancel' | 'cancel'> {
  readonly title: string;
  /** Whether it shows its result, so that nothing typed would be lost. */
  readonly isDone?: boolean;
  readonly onClose: () => void;
}

/** A form in a dialog. Closing it asks first if something was typed. */
export function FormDialog({ title, isDone = false, onClose, ...props }: FormDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isLeaving, setLeaving] = useState(false);
  useLayoutEffect(() => {
    dialog.current?.showModal();
    // A key that was pressed too often must not delete anything.
    if (document.activeElement?.matches('.form-end > .danger'))
      dialog.current?.querySelector<HTMLElement>('.form-end > :last-child')?.focus();
  }, []);
  const leave = (event: Event) => {
    // Other elements, such as file fields, have this event, too.
    if (event.target !== dialog.current && event.type === 'cancel') return;
    event.preventDefault();
    if (props.form.isChanged && !isDone && !isLeaving) setLeaving(true);
    else dialog.current?.close();
  };
  return (
    <dialog class="wide" ref={dialog} aria-label={title} onCancel={leave} onClose={onClose}>
      <h2>{title}</h2>
      <Form {...props} cancel={isDone ? 'Close' : 'Cancel'} onCancel={leave} />
      {isLeaving && (
        <div class="row leaving" role="alert">
          Discard what you typed?
          <button class="button small danger" onClick={leave}>
            Discard
          </button>
          <Button onClick={() => setLeaving(false)}>Keep editing</Button>
        </div>
      )}
    </dialog>
  );
}
