/** What all mutations select of their typed errors. */
export const FAULT = '... on Error { message path } ... on ValidationError { faults { path message } }';

/** What is shown of a person or a service account. */
export const ACTOR =
  '... on Node { id } ... on User { databaseId name email } ... on ServiceAccount { databaseId displayName }';

/** For changes with `expectedUpdatedAt`. */
export const LOCK_FAULT = `${FAULT} ... on ConflictError { reason }`;
