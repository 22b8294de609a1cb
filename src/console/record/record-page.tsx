import { PageFrame } from '../parts/parts.tsx';
import { RecordingWays } from './recording-ways.tsx';

export const RecordPage = () => (
  <PageFrame
    title="Record"
    intro="Three ways to record agents, for Node.js 20 and later. Sessions are private unless you choose otherwise."
  >
    <RecordingWays />
  </PageFrame>
);
