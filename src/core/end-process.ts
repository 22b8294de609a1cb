/** Requests that occupy a thread of libuv until they are answered: files, and names that are looked up. */
const IN_A_THREAD = /^(?:FSReq|GetAddrInfo|GetNameInfo)/;

/**
 * Ends the process at once. `process.exit` waits for libuv's threads, and with them for as long as a name server does not answer: 10 seconds
 * and more while the network of the database is away. Another program in place of this one ends all threads.
 */
export function endProcess(code: number): never {
  const isOccupied = process.getActiveResourcesInfo().some((name) => IN_A_THREAD.test(name));
  if (isOccupied && process.platform !== 'win32') process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`], {});
  process.exit(code);
}
