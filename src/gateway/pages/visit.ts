import type { HttpRequest } from '../../core/http/messages.ts';
import type { SignInRequest } from '../admission/browser-session.ts';

/** A request for a page. */
export interface Visit extends SignInRequest {
  readonly request: HttpRequest;
  readonly url: URL;
  /** Undefined for calls within the process. */
  readonly clientAddress: string | undefined;
  /** Records the refused sign-in of a known key. */
  readonly onRefusal: (error: unknown, operation: string) => void;
}
