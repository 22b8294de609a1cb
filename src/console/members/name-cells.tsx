import { personOf } from '../parts/parts.tsx';

interface Person {
  readonly name: string | null;
  readonly email: string | null;
}

/** The cells with the name of a person and with the e-mail address, which is the name of a person without one. */
export const nameCells = (user: Person) => [
  <td key="name" class="wide" title={personOf(user)}>
    <div class="line">
      <strong>{personOf(user)}</strong>
    </div>
  </td>,
  <td key="email" class="second" title={user.email ?? undefined}>
    {user.name && user.email}
  </td>,
];
