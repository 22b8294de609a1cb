import type { ComponentProps } from 'preact';

/** A cell of a table with a name in one line; the table gives it its other attributes. */
export const NameCell = ({ name, ...attributes }: { readonly name: string } & ComponentProps<'td'>) => (
  <td {...attributes} class="wide" title={name}>
    <div class="line">
      <strong>{name}</strong>
    </div>
  </td>
);
