import type { useFilter } from './filters.tsx';

interface ChipsProps {
  readonly fields: Readonly<Record<string, ReturnType<typeof useFilter>>>;
  /** What a chip says of the value of its field. A field without words has no chip. */
  readonly words: Readonly<Record<string, (value: string) => string>>;
}

/** The filters that are set, each with a button that removes it. */
export function FilterChips({ fields, words }: ChipsProps) {
  const chips = Object.entries(words).flatMap(([name, wordsOf]) => {
    const value = fields[name]?.[0] ?? '';
    return value === '' ? [] : [{ name, text: wordsOf(value) }];
  });
  if (chips.length === 0) return null;
  const remove = (names: readonly string[]) => {
    for (const name of names) fields[name]?.[1]('');
    document.querySelector<HTMLElement>('#page-title')?.focus({ preventScroll: true });
  };
  return (
    <ul class="chips" aria-label="Filters that are set">
      {chips.map(({ name, text }) => (
        <li key={name}>
          <button type="button" onClick={() => remove([name])}>
            <span class="visually-hidden">Remove the filter</span> <bdi>{text}</bdi> <span aria-hidden="true">×</span>
          </button>
        </li>
      ))}
      {chips.length > 1 && (
        <li class="all">
          <button type="button" onClick={() => remove(Object.keys(fields))}>
            Remove all
          </button>
        </li>
      )}
    </ul>
  );
}
