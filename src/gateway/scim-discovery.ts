/** What SCIM says of itself (RFC 7643, sections 5 to 7). */

const SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0';

export const serviceProviderConfig = (base: string) => ({
  schemas: [`${SCHEMA}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: 200 },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'API key',
      description: 'The API key of a service account with the role admin and the scope scim.',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
});

const typeOf = (base: string, name: 'User' | 'Group') => ({
  schemas: [`${SCHEMA}:ResourceType`],
  id: name,
  name,
  endpoint: `/${name}s`,
  schema: `${SCHEMA}:${name}`,
  meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
});

export const RESOURCE_TYPES = (base: string) => [typeOf(base, 'User'), typeOf(base, 'Group')];

interface Attribute {
  readonly name: string;
  readonly type?: string;
  readonly required?: boolean;
  readonly multiValued?: boolean;
  readonly caseExact?: boolean;
  readonly uniqueness?: 'none' | 'server';
  readonly mutability?: 'readWrite' | 'readOnly' | 'immutable';
  readonly subAttributes?: readonly object[];
}

const attribute = (given: Attribute) => ({
  type: 'string',
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...given,
});

const ATTRIBUTES = {
  User: [
    attribute({ name: 'userName', required: true, uniqueness: 'server' }),
    attribute({ name: 'externalId', caseExact: true }),
    attribute({
      name: 'name',
      type: 'complex',
      subAttributes: ['formatted', 'givenName', 'familyName'].map((name) => attribute({ name })),
    }),
    attribute({ name: 'displayName' }),
    attribute({
      name: 'emails',
      type: 'complex',
      multiValued: true,
      subAttributes: [
        attribute({ name: 'value' }),
        attribute({ name: 'type' }),
        attribute({ name: 'primary', type: 'boolean' }),
      ],
    }),
    attribute({ name: 'active', type: 'boolean' }),
  ],
  Group: [
    attribute({ name: 'displayName', required: true, uniqueness: 'server' }),
    attribute({ name: 'externalId', caseExact: true }),
    attribute({
      name: 'members',
      type: 'complex',
      multiValued: true,
      subAttributes: [
        attribute({ name: 'value', mutability: 'immutable' }),
        attribute({ name: '$ref', type: 'reference', mutability: 'immutable' }),
        attribute({ name: 'type', mutability: 'immutable' }),
      ],
    }),
  ],
};

export const SCHEMAS = (base: string) =>
  (['User', 'Group'] as const).map((name) => ({
    schemas: [`${SCHEMA}:Schema`],
    id: `${SCHEMA}:${name}`,
    name,
    description: `A ${name.toLowerCase()} of OIDC_ORGANIZATION.`,
    attributes: ATTRIBUTES[name],
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${SCHEMA}:${name}` },
  }));
