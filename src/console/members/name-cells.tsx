import { personOf } from '../parts/parts.tsx';

interface Person {
  readonly name: string | null;
  readonly email: string | null;
}

/**
 * The cells with the name of a person and with the e-mail address, which is the name of a person without one.
 * @param hasNames whether a person of the list has a name; otherwise there is no second cell
 */
export const nameCells = (user: Person, hasNames: boolean) => [
  <td key="name" class="wide" title={personOf(user)}>
    <div class="line">
      <strong>{personOf(user)}</strong>
    </div>
  </td>,
  hasNames && (
    <td key="email" class="second" title={user.email ?? undefined}>
      {user.name && user.email}
    </td>
  ),
];
