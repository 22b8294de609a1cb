import { DomainError } from '../../core/errors.ts';

/** RFC 7644, section 3.12. */
export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'uniqueness';

/** 400, or 409 for what another resource has, with the word that SCIM has for the reason. */
export class ScimError extends DomainError {
  readonly scimType: ScimType;

  constructor(scimType: ScimType, message: string) {
    super(scimType === 'uniqueness' ? 'conflict' : 'invalid', message);
    this.scimType = scimType;
  }
}
