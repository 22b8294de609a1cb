declare const noun: unique symbol;

/**
 * The id of a noun. Ids of different nouns do not mix: one that is passed in place of another fails to compile. Text that has no noun fits each
 * of them, so an id that was just made or comes from outside needs no cast; `idSchema` names the noun of an input's field.
 */
type Id<Noun extends string> = string & { readonly [noun]?: Noun };

export type ApiKeyId = Id<'ApiKey'>;
export type OrganizationId = Id<'Organization'>;
export type SessionId = Id<'Session'>;
export type UserId = Id<'User'>;
