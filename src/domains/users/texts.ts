/** What the fields of service accounts mean, for both APIs. */
export const SERVICE_ACCOUNT_TEXTS = {
  id: 'Id of the service account.',
  name: 'Its name, 1 to 100 characters.',
  role: 'Its role in the organization.',
  createdAt: 'When the service account was created.',
  updatedAt: 'When its name or role last changed. `expectedUpdatedAt` is compared with it.',
} as const;

/** What the fields of users mean, for both APIs. */
export const USER_TEXTS = {
  id: 'Id of the user, which `DELETE /v1/users/{userId}` takes.',
  email: 'E-mail address. Null for a deleted account.',
  name: 'Name to display, at most 100 characters. Null when none was given.',
  createdAt: 'When the account was created.',
  updatedAt: 'When the name last changed. `expectedUpdatedAt` is compared with it.',
} as const;
