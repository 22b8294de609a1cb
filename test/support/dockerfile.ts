// Runs the steps of a Dockerfile in empty folders, like an image builder, but with this machine as the base image. `npm
// ci` downloads packages only when suites run in full; otherwise the packages of the checkout are linked.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { full } from './proof.ts';

export interface Stage {
  readonly base: string;
  /** The folder that is used as `/`. */
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly labels: string;
  readonly workingDirectory: string;
  readonly user: string;
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
}

interface Draft extends Stage {
  readonly name: string;
  /** The build arguments, with their defaults. */
  readonly arguments: Record<string, string>;
  environment: Record<string, string>;
  labels: string;
  workingDirectory: string;
  user: string;
  command: readonly string[];
  healthCheck: readonly string[];
}

const run = promisify(execFile);

/** Instructions without comments, each on one line. */
function instructionsOf(text: string): [string, string][] {
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  return lines.filter(Boolean).map((line) => {
    const [word = '', ...rest] = line.split(' ');
    return [word, rest.join(' ')];
  });
}

/** Builds the last stage. */
export async function buildIn(folder: string, context: string): Promise<Stage> {
  const instructions = instructionsOf(await readFile(join(context, 'Dockerfile'), 'utf8'));
  const ignored = (await readFile(join(context, '.dockerignore'), 'utf8')).split('\n');
  const stages: Draft[] = [];
  for (const [word, rest] of instructions) {
    const stage = stages.at(-1);
    if (word === 'FROM') {
      const [base = '', , name = String(stages.length)] = rest.split(' ');
      const root = join(folder, name);
      await mkdir(root, { recursive: true });
      stages.push({
        name,
        base,
        root,
        arguments: {},
        environment: {},
        labels: '',
        workingDirectory: '/',
        user: 'root',
        command: [],
        healthCheck: [],
      });
    } else if (!stage) throw new Error(`${word} before FROM`);
    else await follow(word, rest, { stage, stages, context, ignored });
  }
  const last = stages.at(-1);
  if (!last) throw new Error('no stage');
  return last;
}

interface Build {
  readonly stage: Draft;
  readonly stages: readonly Draft[];
  readonly context: string;
  readonly ignored: readonly string[];
}

const filled = (text: string, stage: Draft) =>
  text.replaceAll(/\$(\w+)/g, (_, name: string) => stage.arguments[name] ?? '');

async function follow(word: string, rest: string, build: Build): Promise<void> {
  const { stage } = build;
  const directory = join(stage.root, stage.workingDirectory);
  switch (word) {
    case 'WORKDIR':
      stage.workingDirectory = rest;
      await mkdir(join(stage.root, rest), { recursive: true });
      break;
    case 'COPY':
      await copy(rest.split(' '), build);
      break;
    case 'RUN':
      if (rest.startsWith('npm ci ') && !full) await linkPackages(rest, directory, build.context);
      else await run('/bin/sh', ['-c', rest], { cwd: directory, env: { ...process.env, ...stage.environment } });
      break;
    case 'ARG': {
      const [name = '', value = ''] = rest.split('=');
      stage.arguments[name] = value;
      break;
    }
    case 'ENV':
      for (const pair of filled(rest, stage).split(' '))
        stage.environment[pair.split('=')[0] ?? ''] = pair.slice(pair.indexOf('=') + 1);
      break;
    case 'LABEL':
      stage.labels += filled(rest, stage);
      break;
    case 'USER':
      stage.user = rest;
      break;
    case 'HEALTHCHECK':
      stage.healthCheck = JSON.parse(rest.slice(rest.indexOf('['))) as string[];
      break;
    case 'CMD':
      stage.command = JSON.parse(rest) as string[];
      break;
    case 'EXPOSE':
      break;
    default:
      throw new Error(`unsupported instruction ${word}; add it to test/support/dockerfile.ts`);
  }
}

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly dev?: true; readonly optional?: true; readonly devOptional?: true }>
  >;
}

/** Links the packages that `npm ci --omit=dev --omit=optional` would install from the checkout. */
async function linkPackages(command: string, directory: string, context: string): Promise<void> {
  if (!command.includes(' --omit=dev --omit=optional ')) throw new Error(`unsupported npm options: ${command}`);
  const { packages } = JSON.parse(await readFile(join(directory, 'package-lock.json'), 'utf8')) as Lock;
  const paths = Object.entries(packages).flatMap(([path, { dev, optional, devOptional }]) =>
    path === '' || dev || optional || devOptional ? [] : [path],
  );
  // A package inside another package is linked together with that one.
  const outermost = paths.filter((path) => path.lastIndexOf('node_modules/') === 0);
  const copyAll = (...how: string[]) => run('cp', [...how, '--parents', ...outermost, directory], { cwd: context });
  // Hard links work only within one file system.
  await copyAll('-al').catch(() => copyAll('-af'));
}

async function copy(words: readonly string[], { stage, stages, context, ignored }: Build): Promise<void> {
  const from = words[0]?.startsWith('--from=') ? words[0].slice('--from='.length) : undefined;
  const source = from === undefined ? context : stages.find(({ name }) => name === from)?.root;
  if (source === undefined) throw new Error(`no stage ${from}`);
  const paths = words.slice(from === undefined ? 0 : 1, -1);
  const target = join(stage.root, stage.workingDirectory, words.at(-1) ?? '');
  for (const path of paths) {
    // A builder cannot copy files outside its context.
    if (from === undefined && !ignored.includes(`!${path}`)) throw new Error(`${path} is not in the context`);
    const isFile = (await stat(join(source, path))).isFile();
    const place = isFile ? join(target, basename(path)) : target;
    if (from === undefined) await cp(join(source, path), place, { recursive: true, verbatimSymlinks: true });
    // Hard links, because all packages are copied between stages.
    else await run('cp', ['-alT', join(source, path), place]);
  }
  await chmod(stage.root, 0o755);
}
