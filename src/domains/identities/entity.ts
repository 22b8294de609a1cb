import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import { User } from '../users/public.ts';

const IdentitySchema = defineEntity({
  name: 'Identity',
  tableName: 'identity',
  properties: {
    id: p.uuid().primary(),
    issuer: p.text(),
    /** The claim `sub`, which the issuer never gives to another person. */
    subject: p.text(),
    user: () => p.manyToOne(User).deleteRule('cascade'),
    createdAt: p.datetime(),
    lastSignedInAt: p.datetime(),
    /** The OIDC_RELINK_UNTIL with which it got its subject, so that it gets no other one with the same. */
    relinkedUntil: p.text().nullable(),
  },
  uniques: [
    { name: 'identity_subject_unique', properties: ['issuer', 'subject'] },
    { name: 'identity_user_unique', properties: ['user', 'issuer'] },
  ],
});

/** A person at an identity provider, joined to an account. */
export class Identity extends IdentitySchema.class {}
IdentitySchema.setClass(Identity);

const SignInTokenSchema = defineEntity({
  name: 'SignInToken',
  tableName: 'sign_in_token',
  properties: {
    /** SHA-256 of the token. */
    hash: p.blob().primary(),
    /** The person whom a link signs in. Null for the `state` of an attempt, which has a row once it is used. */
    user: () => p.manyToOne(User).nullable().deleteRule('cascade'),
    expiresAt: p.datetime(),
  },
  indexes: [
    { name: 'sign_in_token_expiry_index', properties: ['expiresAt'] },
    { name: 'sign_in_token_user_index', properties: ['user'], where: 'user_id is not null' },
  ],
});

/** What signs in once: a link that the operator has made, or an attempt to sign in with the identity provider. */
export class SignInToken extends SignInTokenSchema.class {}
SignInTokenSchema.setClass(SignInToken);

export type IdentityTables = InferKyselyDB<typeof IdentitySchema | typeof SignInTokenSchema>;
