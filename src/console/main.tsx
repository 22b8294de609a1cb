import { render } from 'preact';
import { useEffect, useState, useRef } from 'preact/hooks';
import { isElsewhere, openIn, organization } from './parts/address.ts';
import { type Fault, type Paused, query } from './parts/api.ts';
import { CallerContext, loadCallerWith, useScope } from './parts/caller.ts';
import { FormButton } from './parts/form-button.tsx';
import { visibleText } from './parts/markup.ts';
import { Notices } from './parts/notices.tsx';
import type { Answers } from './generated/operation-types.ts';
import { Empty, Faults, Loading, PageFrame, personOf } from './parts/parts.tsx';
import { GROUPS, PROFILE, type Section, sectionOf, sectionsFor } from './sections.ts';
import { Icon } from './parts/icons.tsx';
import { Keyboard } from './keyboard/keyboard.tsx';
import { Progress } from './parts/progress.tsx';
import { followAs } from './parts/streams.ts';
import { restore, visit } from './parts/visits.ts';
import { CreateOrganization } from './organizations/organization-forms.tsx';
import { InvitationPage } from './members/invitation-page.tsx';

function pageAt(path: string) {
  const section = sectionOf(path);
  const [, , name] = path.split('/');
  if (name && section?.object) return <section.object key={path} id={decoded(name)} />;
  if (section) return <section.list key={section.href} />;
  return (
    <PageFrame title="Not found">
      <Empty>There is no such page.</Empty>
    </PageFrame>
  );
}

/** A decoded part of the URL, or the part itself if it is not encoded correctly. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The path of the current page. Navigation does not reload the console. */
function usePath(): string {
  const [path, setPath] = useState(location.pathname);
  useEffect(() => {
    const moved = () => setPath(location.pathname);
    const clicked = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest('a') : null;
      const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
      // Links of plots are of SVG, which have no parts of their address.
      const to = URL.parse(link?.getAttribute('href') ?? '', location.href);
      if (!link || !to || !isPlain || to.origin !== location.origin || !isConsolePath(to.pathname)) return;
      // Another organization is another page.
      if (isElsewhere(to.search)) return;
      if (to.pathname === location.pathname && to.search === location.search && to.hash !== '') return;
      event.preventDefault();
      visit(to);
      document.getElementById(to.hash.slice(1))?.scrollIntoView();
    };
    addEventListener('popstate', moved);
    document.addEventListener('click', clicked);
    return () => {
      removeEventListener('popstate', moved);
      document.removeEventListener('click', clicked);
    };
  }, []);
  return path;
}

const isConsolePath = (path: string): boolean => path === '/' || sectionOf(path) !== undefined;

type Viewer = Answers['Viewer']['viewer'];

/** What a tab needs before it shows a page. */
interface Beginning {
  readonly viewer?: Viewer | undefined;
  readonly faults: readonly Fault[];
}

/** Finds out who is signed in, and fixes the organization of this tab: that of the address, of the object in the address, or the latest one. */
async function begin(onPause: (paused?: Paused) => void): Promise<Beginning> {
  const { data, faults } = await query('Viewer', {}, { onPause });
  if (!data) return { faults };
  const { viewer } = data;
  const organizations = organizationsOf(viewer);
  const isOneOfSeveral = organizations.length > 1;
  if (viewer.user) followAs(viewer.user.id);
  if (viewer.organization) organization.use(viewer.organization, { isOneOfSeveral });
  if (viewer.organization || !organizations[0]) return { viewer, faults };
  organization.use(await organizationOf(location.pathname, organizations), { isOneOfSeveral });
  return begin(onPause);
}

/** The organizations in which this tab can act: one for a bound key. */
function organizationsOf({ apiKey, organization: only, organizations }: Viewer): readonly Organization[] {
  if (apiKey.organization) return only ? [only] : [];
  return organizations?.nodes ?? [];
}

/** The organization that has the object of a path, or else the latest one. A link without an organization can come from anybody. */
async function organizationOf(path: string, organizations: readonly Organization[]): Promise<Organization> {
  const latest = organizations.find(({ slug, databaseId }) => [slug, databaseId].includes(organization.latest()));
  const [, , name = ''] = path.split('/');
  const operation = name === '' ? undefined : sectionOf(path)?.find;
  const sorted = [...new Set([...(latest ? [latest] : []), ...organizations])];
  for (const one of sorted) {
    if (!operation) break;
    const { data } = await query(operation, { id: decoded(name) }, { organization: one.databaseId });
    if (Object.values(data ?? {}).some(Boolean)) return one;
  }
  // There is at least one.
  return sorted[0] as Organization;
}

function useBeginning(): Beginning & { readonly isLoading: boolean; readonly paused: Paused | undefined } {
  const [beginning, setBeginning] = useState<Beginning>();
  const [paused, setPaused] = useState<Paused>();
  useEffect(() => {
    const load = () => void begin(setPaused).then(setBeginning);
    loadCallerWith(load);
    load();
  }, []);
  return { faults: [], ...beginning, isLoading: !beginning, paused };
}

function Console() {
  const { viewer, faults, isLoading, paused } = useBeginning();
  const sections = sectionsFor(viewer);
  const at = usePath();
  const path = at === '/' && viewer?.organization ? (sections[0] ?? PROFILE).href : at;
  const shown = useRef(at);
  useEffect(() => {
    const title = document.querySelector<HTMLElement>('#page-title');
    if (shown.current !== at && restore()) shown.current = at;
    // If the user moves the focus while the first page loads, it stays.
    if (title && (shown.current !== at || document.activeElement === document.body)) {
      title.focus({ preventScroll: true });
      shown.current = at;
    }
    // On a phone the navigation is one line, which scrolls.
    document.querySelector('.side [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [path, at, viewer === undefined]);
  return (
    <div class="console">
      <Progress />
      <a class="skip" href="#page-title" onClick={toTitle}>
        Skip to the content
      </a>
      <header class="side">
        <a class="brand" href="/">
          <img src={ICON} alt="" width="26" height="26" />
          Workspace gateway
        </a>
        {viewer && <OrganizationChoice current={viewer.organization} organizations={organizationsOf(viewer)} />}
        {viewer?.organization && <Keyboard sections={sections} />}
        <nav aria-label="Console">
          {GROUPS.map((group) => (
            <MenuGroup key={group} name={group} path={path} places={sections.filter((each) => each.group === group)} />
          ))}
        </nav>
      </header>
      <main id="content">
        <Notices path={at} />
        {isLoading && <Loading paused={paused} />}
        {!viewer && !isLoading && <NotHere faults={faults} />}
        <CallerContext.Provider value={viewer}>
          {viewer && (viewer.organization || path === PROFILE.href ? pageAt(path) : <NoOrganization />)}
        </CallerContext.Provider>
      </main>
      <footer class="side-foot">
        <ul>
          <Place href="/graphql" name="GraphiQL" />
          <Place href="/docs" name="REST reference" />
          {viewer?.user && <Place href={PROFILE.href} name={personOf(viewer.user)} path={path} />}
        </ul>
        <form method="post" action="/sign-out">
          <button class="button small plain">Sign out</button>
        </form>
      </footer>
    </div>
  );
}

interface MenuGroupProps {
  readonly name: string;
  readonly path: string;
  readonly places: readonly Section[];
}

const MenuGroup = ({ name, path, places }: MenuGroupProps) =>
  places.length > 0 && (
    <>
      <p class="group" id={`menu-${name}`}>
        {name}
      </p>
      <ul aria-labelledby={`menu-${name}`}>
        {places.map((place) => (
          <Place key={place.href} {...place} path={path} />
        ))}
      </ul>
    </>
  );

interface PlaceProps extends Pick<Section, 'href' | 'name' | 'icon'> {
  /** The path of the current page. */
  readonly path?: string;
}

/** A link of the navigation. */
const Place = ({ href, name, icon, path = '' }: PlaceProps) => (
  <li>
    <a href={href} aria-current={sectionOf(path)?.href === href ? 'page' : undefined}>
      {icon && <Icon name={icon} />}
      {name}
    </a>
  </li>
);

function toTitle(event: Event): void {
  // The fragment of an address names an event.
  event.preventDefault();
  document.querySelector<HTMLElement>('#page-title')?.focus();
}

/** Shown if the address names an organization in which this sign-in cannot act. */
function NotHere({ faults }: { readonly faults: readonly Fault[] }) {
  if (organization.named === null) return <Faults faults={faults} />;
  return (
    <PageFrame title="Another organization">
      <Faults faults={faults} />
      <p>
        This link leads to the organization <strong>{organization.named}</strong>, in which your sign-in cannot act.
        Sign in with a key that can, or go to your own organization.
      </p>
      <p>
        <button class="button" onClick={() => openIn(null, '/')}>
          My organization
        </button>
      </p>
    </PageFrame>
  );
}

const ICON = document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href;

interface Organization {
  readonly databaseId: string;
  readonly name: string;
  readonly slug: string | null;
}

interface OrganizationChoiceProps {
  readonly current: Organization | null | undefined;
  readonly organizations: readonly Organization[];
}

function OrganizationChoice({ current, organizations }: OrganizationChoiceProps) {
  if (organizations.length < 2)
    return (
      <p class="organization" title={current ? visibleText(current.name) : undefined}>
        {current?.name}
      </p>
    );
  const changed = (select: HTMLSelectElement) => {
    const chosen = organizations.find(({ databaseId }) => databaseId === select.value);
    // An object belongs to one organization, so the list of its kind is opened.
    const [, section = ''] = location.pathname.split('/');
    if (chosen) openIn(chosen.slug ?? chosen.databaseId, `/${section}`);
    // The page can come back with the back button.
    select.value = current?.databaseId ?? '';
  };
  return (
    <label class="organization">
      <span class="visually-hidden">Organization</span>
      <select value={current?.databaseId} onChange={({ currentTarget }) => changed(currentTarget)}>
        {organizations.map(({ databaseId, name }) => (
          <option key={databaseId} value={databaseId}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function NoOrganization() {
  const mayCreate = useScope('ORGANIZATIONS_WRITE');
  return (
    <PageFrame
      title="No organization yet"
      actions={
        mayCreate && <FormButton label="New organization" isPlain={false} dialog={CreateOrganization} props={{}} />
      }
    >
      <Empty>
        You belong to no organization. {mayCreate && 'Create one, or '}
        <a href="/invitations/accept">{mayCreate ? 'accept' : 'Accept'} an invitation</a>.
      </Empty>
    </PageFrame>
  );
}

/** Who opens an invitation, and how people can sign in. */
interface Invited {
  readonly isStranger: boolean;
  readonly provider: string | null;
  readonly keysSignIn: boolean;
}

/** The only page for people without an account. */
function showInvitation(element: Element, { isStranger, ...ways }: Invited): void {
  const page = (
    <main id="content" class="alone">
      <a class="brand" href="/">
        <img src={ICON} alt="" width="28" height="28" />
        Workspace gateway
      </a>
      <InvitationPage isStranger={isStranger} ways={ways} />
    </main>
  );
  render(page, element);
}

const root = document.querySelector('#console');
if (root) {
  const isStranger = root.hasAttribute('data-stranger');
  const ways = { provider: root.getAttribute('data-provider'), keysSignIn: root.hasAttribute('data-keys') };
  root.replaceChildren();
  if (location.pathname === '/invitations/accept') showInvitation(root, { isStranger, ...ways });
  else render(<Console />, root);
}
