import { ConfigurationError } from '../../core/config.ts';
import type { Gateway } from '../gateway.ts';
import { type RunningServer, type ServeOptions, serve } from './server.ts';

/** Starts listening. @throws ConfigurationError that names `HOST` or the variable of the port when the address cannot be used. */
export async function listen(
  gateway: Gateway,
  { variable, ...options }: ServeOptions & { readonly variable: string },
): Promise<RunningServer> {
  try {
    return await serve(gateway, options);
  } catch (cause) {
    const { code, message }: NodeJS.ErrnoException = cause instanceof Error ? cause : new Error(String(cause));
    if (code === 'EADDRINUSE')
      throw new ConfigurationError(
        `${variable}: another program already listens on port ${options.port} of ${options.host}`,
        {
          cause,
        },
      );
    throw new ConfigurationError(`${code === 'EACCES' ? variable : 'HOST'}: ${message}`, { cause });
  }
}
