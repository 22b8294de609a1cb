import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

/**
 * A database URL with its parameters and the content of its files (`sslrootcert`, `sslcert`, `sslkey`). Given the URL itself, the driver
 * would read the files for each connection, in a constructor that a pool also calls where nobody catches errors.
 */
export class DatabaseAddress {
  readonly url: string;
  #options: ClientConfig;

  /** @throws Error when a file cannot be read, or a parameter is wrong. */
  constructor(url: string) {
    this.url = url;
    this.#options = parseIntoClientConfig(url);
  }

  get options(): ClientConfig {
    return this.#options;
  }

  /** Reads the files again, which may have been replaced. While that fails, those of the last time are used. */
  refresh(): void {
    if (typeof this.#options.ssl !== 'object') return;
    try {
      this.#options = parseIntoClientConfig(this.url);
    } catch {
      // The files are being replaced, or the process has no descriptor left.
    }
  }
}
