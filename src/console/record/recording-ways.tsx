import { Copyable } from '../parts/copyable.tsx';
import { recordingCommand } from './recording-command.ts';

interface Way {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly args: string;
}

const WAYS: readonly Way[] = [
  {
    id: 'daily',
    name: 'Daily work',
    text: 'Claude Code and Codex send their sessions after each turn. The command shows the hooks that it adds, and asks before it writes them.',
    args: 'install',
  },
  {
    id: 'past',
    name: 'Past work',
    text: 'Sends the sessions of Claude Code, Codex, Gemini CLI and OpenCode that are on your machine, in their place in time. The command says how many there are, and asks before it sends them.',
    args: 'import --since 90d',
  },
  {
    id: 'headless',
    name: 'One run of an agent',
    text: 'Records Claude Code, or another agent, that runs without a person, such as in CI, while it works. There, set the variable KEY to a key with the scope sessions.record instead of the login.',
    args: '-- claude -p "…" --output-format stream-json --verbose',
  },
];

/** The ways to record agents, with commands that can be copied. */
export const RecordingWays = () => (
  <div class="panels">
    {WAYS.map(({ id, name, text, args }) => (
      <section key={id} class="panel" aria-labelledby={id}>
        <h2 id={id}>{name}</h2>
        <p>{text}</p>
        <Copyable text={recordingCommand(args)} />
      </section>
    ))}
  </div>
);
