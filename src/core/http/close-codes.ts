/** Close codes of WebSockets: of RFC 6455, section 7.4.1, and of the protocol `graphql-transport-ws`. */
export const CLOSE_CODES = {
  NOT_TEXT: 1003,
  POLICY: 1008,
  TOO_LARGE: 1009,
  /** A failure that passes. */
  TRY_AGAIN_LATER: 1013,
  BAD_REQUEST: 4400,
  UNAUTHORIZED: 4401,
  FORBIDDEN: 4403,
  TOO_MANY: 4429,
  INTERNAL_ERROR: 4500,
} as const;
