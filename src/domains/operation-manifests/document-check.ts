/** What the gateway says of a document: the schema and the limits are not known here. */
export interface CheckedDocument {
  /** Why it cannot be executed. */
  readonly faults: readonly string[];
  /** What is refused with the usual page sizes only. */
  readonly warnings: readonly string[];
  /** The deprecated fields, arguments and input fields that it names, as schema coordinates. */
  readonly deprecatedFields: readonly string[];
}

export type CheckDocument = (document: string) => CheckedDocument;

let check: CheckDocument | undefined;

/** Called once, when the schema is made. */
export const provideDocumentCheck = (given: CheckDocument): void => void (check = given);

export function checkDocument(document: string): CheckedDocument {
  if (!check) throw new Error('nothing checks documents');
  return check(document);
}
