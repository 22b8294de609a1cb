import { expect } from 'vitest';

/** Reads current metrics of a process. The process answers the same metrics for a second, so this waits for new ones. */
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
