/** Whether a promise settles within this time. Rejects if the promise does so first. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise: tooLate, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, false);
  try {
    return await Promise.race([promise.then(() => true), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
