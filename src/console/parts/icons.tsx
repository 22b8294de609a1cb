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
} as const;
export type IconName = keyof typeof PATHS;

export const Icon = ({ name, tone = '' }: { readonly name: IconName; readonly tone?: string }) => (
  <svg class={`icon ${tone}`} viewBox="0 0 16 16" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
