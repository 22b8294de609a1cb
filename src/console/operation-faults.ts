/** What all mutations select of their typed errors. */
export const FAULT = '... on Error { message path } ... on ValidationError { faults { path message } }';

/** For changes with `expectedUpdatedAt`. */
export const LOCK_FAULT = `${FAULT} ... on ConflictError { reason }`;
