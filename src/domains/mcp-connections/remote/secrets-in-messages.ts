/** Shorter texts are no secrets, and replacing them would make a message unreadable. */
const MIN_SECRET = 6;
const HIDDEN = '[hidden]';

/** Replaces credentials in the text of a server, which can repeat what was sent to it. No message shows one. */
export function hideSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  return secrets.reduce<string>(
    (hidden, secret = '') => (secret.length < MIN_SECRET ? hidden : hidden.replaceAll(secret, HIDDEN)),
    text,
  );
}
