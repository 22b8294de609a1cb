/** Example operations for each subject. A test runs all of them. */
export interface Example {
  readonly noun: string;
  readonly name: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** A variable that the page sets to the latest object of its type, if the caller can see one. */
  readonly fills?: 'sessionId' | 'eventName';
}
