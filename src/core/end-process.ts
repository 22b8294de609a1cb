/** What stops a gateway: a supervisor, Ctrl-C, and the end of the terminal. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Requests that occupy a libuv thread until they complete: file access and name lookups. */
const IN_A_THREAD = /^(?:FSReq|GetAddrInfo|GetNameInfo)/;

/**
 * Ends the process at once. `process.exit` waits for libuv threads, and so for a name server that does not answer: 10 seconds or more while
 * the network is down. Replacing the process by another program ends all threads.
 */
export function endProcess(code: number): never {
  const isOccupied = process.getActiveResourcesInfo().some((name) => IN_A_THREAD.test(name));
  if (isOccupied && process.platform !== 'win32') process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`], {});
  process.exit(code);
}
