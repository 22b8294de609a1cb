import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import { expect, test, vi } from 'vitest';
import { RULES, runRule } from '../../../src/core/redaction/find-credentials.ts';
import { redactDocuments } from '../../../src/core/redaction/redact.ts';
import { MAY_HAVE_CREDENTIAL, PRIVATE_KEY, SHAPES } from '../../../src/core/redaction/shapes.ts';
import { type Pattern, beginningsOf, exampleOf, parsePattern, stepsOf } from '../../support/oracles/pattern-model.ts';
import { random } from '../../support/random.ts';
import { sampled } from '../../support/sample.ts';

/** Each pattern that searches for credentials, with texts made of the pattern itself: no text makes it slow, and none is missed. */

type Rule = (typeof rules)[number];
const nameOf = ({ meta }: Rule) => meta.id.replace('@secretlint/secretlint-rule-', '');

/** The patterns that a rule searches for. */
function patternsOf(rule: Rule): RegExp[] {
  const search = vi.spyOn(String.prototype, 'matchAll');
  runRule(rule, '', () => undefined);
  const patterns = search.mock.calls.map(([pattern]) => pattern);
  search.mockRestore();
  return patterns;
}

const UNUSED = rules.filter((rule) => !RULES.includes(rule));

/** The most characters that a pattern compares for one of a text that consists of its own beginnings, in a short and a long text. */
function stepsPerCharacter(source: RegExp): readonly [short: number, long: number] {
  const pattern = parsePattern(source);
  const options = pattern.kind === 'choice' ? pattern.options : [pattern];
  const most = (length: number) =>
    options.reduce(
      (steps, option) =>
        Math.max(
          steps,
          ...unitsOf(option).map(
            (unit) => stepsOf(option, unit.repeat(Math.ceil(length / unit.length)).slice(0, length)) / length,
          ),
        ),
      0,
    );
  return [most(1000), most(4000)];
}

function unitsOf(pattern: Pattern): string[] {
  const beginnings = beginningsOf(pattern, random(1)).filter((beginning) => beginning !== '');
  return [
    ...new Set(
      beginnings.flatMap((beginning) => [beginning, `${beginning}.`, beginning + beginning.slice(-1).repeat(300)]),
    ),
  ];
}

const isLinear = ([short, long]: readonly [number, number]) => long < 60 && long < short * 1.2;

const named = (patterns: readonly RegExp[]) =>
  patterns.map((pattern) => [pattern.source.slice(0, 40), pattern] as const);

sampled(test, 30).each(named([...SHAPES, PRIVATE_KEY, MAY_HAVE_CREDENTIAL, ...RULES.flatMap(patternsOf)]))(
  'the work grows as the text: %s',
  (_, pattern) => {
    const steps = stepsPerCharacter(pattern);
    expect({ steps, isLinear: isLinear(steps) }).toEqual({ steps, isLinear: true });
  },
);

test('that is not so for the rules that are replaced by shapes of this project', () => {
  const isSlow = (rule: Rule) => patternsOf(rule).some((pattern) => !isLinear(stepsPerCharacter(pattern)));
  expect(UNUSED.filter(isSlow).map(nameOf)).toEqual(['sendgrid', 'github', 'figma']);
});

/** Credentials that rules check beyond their patterns, or that this project defines more narrowly. */
const CHECKED: Readonly<Record<string, readonly string[]>> = {
  '1password': [`ops_${Buffer.from(JSON.stringify({ email: 'a', key: 'k'.repeat(102) })).toString('base64')}`],
  sendgrid: [`SG.${'aB1_'.repeat(5)}aB.${'aB1-'.repeat(10)}aB1`],
  github: [`ghs_123_eyJ${'a'.repeat(40)}.eyJ${'b'.repeat(900)}.${'c_-'.repeat(100)}`, `github_pat_${'a1'.repeat(41)}`],
  basicauth: ['https://user:s3cret@host.example', 'ftp://user:s3cret@host.example'],
  'database-connection-string': ['mysql', 'postgresql', 'mongodb+srv'].map((scheme) => `${scheme}://u:s3cret@host/db`),
};
const SOURCES = new Map([
  ...rules.map((rule) => [nameOf(rule), patternsOf(rule)] as const),
  ['of this project', [...SHAPES, PRIVATE_KEY]] as const,
]);
// Rules for files, and for comments.
for (const name of ['gcp', 'filter-comments']) SOURCES.delete(name);

sampled(test, 30).each([...SOURCES])('all that a rule matches is replaced: %s', async (name, patterns) => {
  const pick = random(7);
  const examples = patterns.flatMap((pattern) => {
    const model = parsePattern(pattern);
    const texts = Array.from({ length: 200 }, () => exampleOf(model, pick, 60));
    // The model ignores what must not follow.
    return texts.filter((text) => new RegExp(pattern.source, pattern.flags).exec(`${text} y`)?.[0] === text);
  });
  const texts = CHECKED[name] ?? examples;
  expect(texts.length).toBeGreaterThan(0);
  const left: string[] = [];
  for (const text of texts) {
    const { documents, secrets } = await redactDocuments([JSON.stringify({ text: `x ${text} y` })]);
    if (secrets !== 1 || !documents[0]?.includes('[redacted]')) left.push(text);
  }
  expect(left).toEqual([]);
});
