import { type Config, keyCommand } from '../core/config.ts';
import { VERSION_AND_BUILD } from '../core/version.ts';
import { LINK_MINUTES } from '../domains/identities/public.ts';

interface FirstStart {
  /** The key of the demo workspace, at the first start only. */
  readonly key: string | undefined;
  /** The token of its sign-in link. */
  readonly token: string | undefined;
}

/** What a gateway prints when it is ready, with the addresses that people open. */
export function welcome(listening: string, config: Config, { key, token }: FirstStart): string {
  const url = config.PUBLIC_URL ?? listening;
  const link = `
  Open this link to sign in (once, within ${LINK_MINUTES} minutes):

    ${url}/sign-in?token=${token}
`;
  return `${token === undefined ? '' : link}
  Workspace gateway is ready.

    Console         ${url}/
    GraphiQL        ${url}/graphql
    REST reference  ${url}/docs
    Version         ${VERSION_AND_BUILD}
    API key         ${key === undefined ? `create one with: ${keyCommand(config)}` : `${key}   (shown only once)`}${url === listening ? '' : `\n    Listens on      ${listening}`}${token === undefined ? '' : `\n    Data            ${config.DATA_DIR}; "cli database copy" takes it to your own PostgreSQL`}

    curl ${url}/events/2026-03/event-definitions -H "Authorization: Bearer ${key ?? '$KEY'}"

`;
}
