import { Migration } from '@mikro-orm/migrations';

const OBJECTS = [
  'APPOINTMENT',
  'COMPANY',
  'CONTACT',
  'COURSE',
  'DEAL',
  'LEAD',
  'LISTING',
  'ORDER',
  'PROJECT',
  'SERVICE',
  'TICKET',
];

/** The listed object that a name means, in any case, singular or plural; null for a custom object. */
const objectOf = (column: string) =>
  `case ${OBJECTS.map((object) => `when upper("${column}") in ('${object}', '${object}S', '${object.replace(/Y$/, 'IES')}') then '${object}'`).join(' ')} end`;

const COPIED = '"organization_id", "property_name", "value", "object_id", "created_at", "updated_at"';

/** Plurals of listed objects were stored as custom objects, which no search by object found. */
export class Migration20261128021200 extends Migration {
  override name = 'Migration20261128021200';

  override up(): void | Promise<void> {
    const object = objectOf('primary_object');
    this.addSql(`update "event_definition" set "primary_object" = ${object} where "primary_object" <> ${object};`);
    const type = objectOf('object_type');
    // A value that is registered for the listed object too keeps the record that it has there. The organization is never null: the test of
    // statements asks for a condition on it, which Citus needs in others.
    this.addSql(
      `insert into "object_identifier" ("object_type", ${COPIED}) select ${type}, ${COPIED} from "object_identifier" as i where i."organization_id" is not null and "object_type" <> ${type} on conflict do nothing;`,
    );
    this.addSql(`delete from "object_identifier" where "object_type" <> ${type};`);
  }

  // What was stored before is not known any more.
  override down(): void | Promise<void> {}
}
