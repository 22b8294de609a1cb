import type { VNode } from 'preact';
import { html } from './html.ts';
import { PageFrame } from './parts.ts';
import { RecordingWays } from './recording-ways.ts';

export function RecordPage(): VNode {
  return html`<${PageFrame}
    title="Record"
    intro="Three ways to record agents, for Node.js 20 and later. Sessions are private unless you choose otherwise."
  >
    <${RecordingWays} />
  <//>`;
}
