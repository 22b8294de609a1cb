import { Action, ROLES, type Role, roleName } from '../parts/parts.tsx';

interface Props {
  readonly role: Role;
  readonly name: string;
  /** What each role means, after the question. */
  readonly meanings: Readonly<Record<Role, string>>;
  readonly change: (role: Role) => Promise<string | undefined>;
}

/** The buttons that give another role. */
export const RoleActions = ({ role, name, meanings, change }: Props) =>
  ROLES.filter(([other]) => other !== role).map(([other]) => {
    const called = roleName(other).toLowerCase();
    const question = `Make “${name}” ${other === 'ADMIN' ? 'an' : 'a'} ${called}? ${meanings[other]}`;
    return <Action key={other} label={`Make ${called}`} confirm={question} run={() => change(other)} />;
  });
