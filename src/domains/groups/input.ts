import { z } from 'zod';
import type { GroupId, UserId } from '../../core/ids.ts';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { idSchema, optional, rule, text } from '../../core/input/validation.ts';

const nameOf = (max: number) =>
  text({ min: 1, max }).refine(
    (value) => value === '' || value.trim() !== '',
    rule('TOO_SHORT', 'must not be blank', 1),
  );
const name = nameOf(200);
const externalName = nameOf(500);
const EXTERNAL_NAME =
  'The name or id of a group of the identity provider, whose people are its members: as each sign-in says, or as SCIM sends them.';
export const MAX_GROUP_MEMBERS = 5000;
const memberIds = z.array(idSchema<UserId>(z.uuid().toLowerCase())).max(MAX_GROUP_MEMBERS);
const MEMBERS = 'The people and service accounts of the organization in the group.';

export const createGroupInput = z.strictObject({
  name: name.describe('The name of the group.'),
  externalName: optional(externalName).describe(EXTERNAL_NAME),
  memberIds: optional(memberIds).describe(MEMBERS),
});

const groupId = idSchema<GroupId>().describe('Id of the group.');
export const groupReference = z.strictObject({ groupId });

export const updateGroupInput = z.strictObject({
  groupId,
  name: name.optional().describe('The new name of the group.'),
  externalName: externalName.nullable().optional().describe(`${EXTERNAL_NAME} Null unties the group.`),
  memberIds: memberIds.optional().describe(`${MEMBERS} They replace the members.`),
  expectedUpdatedAt: expectedUpdatedAtInput,
});

export const groupFilter = z
  .strictObject({
    search: text({ max: 200 })
      .nullish()
      .describe('Groups whose name contains this text. Case is ignored; there are no wildcards.'),
    ...createdBetween,
  })
  .describe('Conditions on groups. A group is listed when it meets all of them.');
export type GroupFilter = z.output<typeof groupFilter>;

export const groupMemberFilter = z
  .strictObject({
    search: text({ max: 254 })
      .nullish()
      .describe('Members whose name or e-mail address contains this text. Case is ignored; there are no wildcards.'),
    ...createdBetween,
  })
  .describe('Conditions on the members of a group. One is listed when it meets all of them.');
export type GroupMemberFilter = z.output<typeof groupMemberFilter>;

export const listGroupsInput = z.strictObject({ ...listInput });
