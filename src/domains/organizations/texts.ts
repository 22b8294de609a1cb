/** What the fields of organizations mean, for both APIs. */
export const ORGANIZATION_TEXTS = {
  id: 'Id of the organization.',
  name: 'Name of the organization, 1 to 100 characters.',
  slug: 'Slug of at most 100 characters, unique over all organizations. Null when none was given and the name has neither letters nor digits.',
  logoUrl: 'Address of the logo. Null when there is none.',
  memberCount: 'Number of members.',
  createdAt: 'When the organization was created.',
  updatedAt: 'When the organization last changed. `expectedUpdatedAt` is compared with it.',
} as const;
