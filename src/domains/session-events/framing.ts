/**
 * Agents put texts of their program around the words of a person, or in their place: the framing. It stands in elements with known names, before
 * or after the words.
 */

const NAMES =
  'system-reminder|command-(?:name|message|args)|local-command-[a-z]+|task-notification|bash-(?:input|stdout|stderr)|user-prompt-submit-hook|user-memory-input|ide_[a-z_]+|environment_context|user_instructions|INSTRUCTIONS|permissions instructions|skills_instructions|turn_aborted|user_shell_command|subagent_notification|collaboration_mode|apps_instructions|personality_spec|model_switch|session_context|hook_context';
const BEFORE = new RegExp(`^\\s*<(${NAMES})>[^]*?</\\1>\\s*`);
/** A person has not written more of them. */
const MAX_ELEMENTS = 50;
const LAST_OPENED = new RegExp(`<(${NAMES})>`, 'g');

export interface FramedText {
  readonly framing: string;
  readonly words: string;
}

/** Separates the framing from the words, which are empty where a person has said nothing. Without framing the text stays as it is. */
export function separated(text: string): FramedText {
  if (!text.includes('</')) return { framing: '', words: text };
  let words = text;
  const framing: string[] = [];
  for (let found = BEFORE.exec(words); found && framing.length < MAX_ELEMENTS; found = BEFORE.exec(words)) {
    framing.push(found[0].trim());
    words = words.slice(found[0].length);
  }
  const after: string[] = [];
  for (let begin = lastElement(words); begin !== undefined && after.length < MAX_ELEMENTS; begin = lastElement(words)) {
    after.push(words.slice(begin).trim());
    words = words.slice(0, begin).trimEnd();
  }
  const all = [...framing, ...after.toReversed()];
  return all.length === 0 ? { framing: '', words: text } : { framing: all.join('\n'), words };
}

/** Where the element begins with which the text ends. */
function lastElement(text: string): number | undefined {
  const end = text.trimEnd();
  const name = /<\/([a-zA-Z_ -]+)>$/.exec(end.slice(-60))?.[1];
  if (name === undefined) return undefined;
  const begin = end.lastIndexOf(`<${name}>`);
  LAST_OPENED.lastIndex = 0;
  return begin >= 0 && LAST_OPENED.test(`<${name}>`) ? begin : undefined;
}
