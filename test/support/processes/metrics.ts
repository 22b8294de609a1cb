import { expect } from 'vitest';

/** Reads fresh metrics of a process, which answers the same metrics for a second. */
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
