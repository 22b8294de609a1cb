import { expect } from 'vitest';

/** Reads the metrics of a process, each time newer ones than before: within a second it answers the same again. */
export function createMetricsReader(): { fresh(url: string): Promise<string> } {
  let last = '';
  return {
    async fresh(url) {
      const read = async () => (await fetch(`${url}/metrics`)).text();
      let text = '';
      await expect.poll(async () => (text = await read()) !== last, { interval: 50 }).toBe(true);
      last = text;
      return text;
    },
  };
}
