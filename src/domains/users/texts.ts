/** What the fields of users mean, for both APIs. */
export const USER_TEXTS = {
  id: 'Id of the user, which `DELETE /v1/users/{userId}` takes.',
  email: 'E-mail address. Null for a deleted account.',
  name: 'Name to display, at most 100 characters. Null when none was given.',
  createdAt: 'When the account was created.',
  updatedAt: 'When the name last changed. `expectedUpdatedAt` is compared with it.',
} as const;
