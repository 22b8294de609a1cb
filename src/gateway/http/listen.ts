import { ConfigurationError } from '../../core/config.ts';
import type { Gateway } from '../gateway.ts';
import { type RunningServer, serve } from './server.ts';

/** @throws ConfigurationError naming `HOST` or the variable of the port when the address cannot be had. */
export async function listen(
  gateway: Gateway,
  { host, port, variable }: { readonly host: string; readonly port: number; readonly variable: string },
): Promise<RunningServer> {
  try {
    return await serve(gateway, { host, port });
  } catch (cause) {
    const { code, message }: NodeJS.ErrnoException = cause instanceof Error ? cause : new Error(String(cause));
    if (code === 'EADDRINUSE')
      throw new ConfigurationError(`${variable}: another program listens on port ${port} of ${host} already`, {
        cause,
      });
    throw new ConfigurationError(`${code === 'EACCES' ? variable : 'HOST'}: ${message}`, { cause });
  }
}
