/** Icons beside the words for kinds and states, drawn in a square of 16. They say nothing that the words do not. */
const PATHS = {
  queued: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3.2L10.2 10',
  running: 'M8 2a6 6 0 1 1-6 6M6.5 5.5v5L10.5 8z',
  completed: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM5.3 8.2l1.9 1.9 3.6-3.9',
  failed: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM5.9 5.9l4.2 4.2M10.1 5.9l-4.2 4.2',
  cancelled: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM3.8 3.8l8.4 8.4',
  warning: 'M8 2.5l6 11H2zM8 6.5v3.2M8 11.4v.4',
  connection: 'M5.5 2v3M10.5 2v3M4 5h8v2.5a4 4 0 0 1-8 0zM8 11.5V14',
  webhook: 'M2.5 8h8M7.5 4.5L11 8l-3.5 3.5M13.5 3v10',
  overview: 'M2.5 2.5h4.5v6H2.5zM9 2.5h4.5v3H9zM9 8h4.5v5.5H9zM2.5 11h4.5v2.5H2.5z',
  session: 'M2.5 3h11v7.5H7L4 13.5v-3H2.5zM5 5.7h6M5 8h4',
  record: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z',
  approval: 'M8 1.8l5 2v4c0 3-2 5.2-5 6.4-3-1.2-5-3.4-5-6.4v-4zM5.6 8l1.7 1.7 3.2-3.4',
  usage: 'M2.5 13.5h11M4 13V8.5M8 13V3.5M12 13V6.5',
  definition: 'M8.5 2.5h5v5l-6 6-5-5zM11 5v.4',
  key: 'M10.5 2.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8.3 7.7L3 13M5 11l1.8 1.8',
  person: 'M8 2.5a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM2.8 13.5c.4-2.8 2.5-4 5.2-4s4.8 1.2 5.2 4',
  group:
    'M5.5 4a2.2 2.2 0 1 0 0 4.4A2.2 2.2 0 0 0 5.5 4zM1.5 12.5c.3-2 1.8-3 4-3s3.7 1 4 3M10.5 4.3a2 2 0 0 1 0 3.9M12 9.8c1.4.4 2.2 1.3 2.5 2.7',
  review: 'M3.5 2.5h9v11h-9zM5.8 6l1 1 1.6-1.8M5.8 10l1 1 1.6-1.8M10.3 6.3h.4M10.3 10.3h.4',
  organization: 'M3.5 13.5v-11h6v11M9.5 6.5h3v7M2 13.5h12M5.8 5.3h1.4M5.8 8h1.4M5.8 10.7h1.4',
  log: 'M3 3.5h10M3 6.5h10M3 9.5h10M3 12.5h6',
} as const;
export type IconName = keyof typeof PATHS;

export const Icon = ({ name, tone = '' }: { readonly name: IconName; readonly tone?: string }) => (
  <svg class={`icon ${tone}`} viewBox="0 0 16 16" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
