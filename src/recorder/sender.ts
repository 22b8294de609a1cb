/** Sends the lines of a run. */

import { AGENTS, GATEWAY, NOT_SET, OF_ANY_AGENT, SIGN_IN, say, settingsProblem, textOf } from './common.ts';
import { ALIVE_MS, MAX_PAUSE_MS, SEND_EVERY_MS } from './limits.ts';
import { othersIn, type Spool, type State } from './spool.ts';
import { Refusal } from './failures.ts';
import { type Answer, ensureSession, isConflict, paceMs, post, postJson } from './gateway.ts';
import { agentOf, formatOf, sourceOf } from './agents.ts';

/** Sends the lines of a spool: creates the session first, and sets its state at the end. */
export class Sender {
  readonly spool: Spool;
  /** What is wrong now. */
  problem: string | undefined;
  /** Why nothing more is sent. */
  refusal: string | undefined;
  pauseMs = 0;
  /** How often the format was looked for. */
  #looks = 0;
  #sentAt = Date.now();

  constructor(spool: Spool) {
    this.spool = spool;
    const problem = settingsProblem();
    if (problem !== undefined) this.refuse(problem);
    if (problem === NOT_SET) say(SIGN_IN);
  }

  refuse(reason: string) {
    this.refusal = reason;
    say(`${reason}. Lines are only kept in ${this.spool.place}`);
  }

  /** Sends all that is there. @returns whether there is nothing left to do now */
  async flush() {
    const { spool } = this;
    const { state } = spool;
    if (this.refusal !== undefined) return false;
    try {
      state.format ??= formatOf(spool, (this.#looks += 1));
      if (state.format === undefined) return false;
      if (state.session === undefined) {
        state.sourceId ??= sourceOf(spool, (this.#looks += 1));
        if (state.sourceId === undefined) return false;
        await this.create(state.sourceId);
      }
      if (!state.isStarted) await this.start();
      for (let lines = spool.next(); lines; lines = spool.next()) {
        spool.save();
        await this.append(lines, this.typeOf(state.format));
        spool.acknowledge();
        this.back();
      }
      if (Date.now() - this.#sentAt > ALIVE_MS) await this.append('', this.typeOf(state.format));
      return true;
    } catch (error) {
      this.failed(error);
      return false;
    }
  }

  typeOf(format: string) {
    const { run, sent, isResumed, map } = this.spool.state;
    return `application/x-ndjson; format=${format}; batchId="${run}:${sent}"${map ? `; map="${map}"` : ''}${isResumed ? '; resumed=true' : ''}`;
  }

  /** Appends to the session. One that another recorder has finished is queued again. */
  async append(body: string | Buffer, type: string) {
    const send = () =>
      post(`/v1/sessions/${this.spool.state.session}/events`, body as string, { 'Content-Type': type });
    await send().catch(async (error) => {
      if (!isConflict(error)) throw error;
      await this.start();
      return send();
    });
    this.#sentAt = Date.now();
  }

  async create(sourceId: string) {
    const { state } = this.spool;
    const { title, visibility, format = 'auto', run, project, branchName } = state;
    if (!OF_ANY_AGENT.has(format) && !AGENTS.has(state.agent ?? '')) state.agent = agentOf(this.spool, format);
    const body = { title, visibility, project, branchName };
    const ensure = (id: string) => ensureSession(state.agent ?? 'agent', id, body);
    // The session of the agent that was deleted does not come back.
    const created = await ensure(sourceId).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
      return ensure(run);
    });
    state.session = created.id;
    this.spool.save();
  }

  move(to: string, step: string) {
    const { session, run } = this.spool.state;
    return postJson(`/v1/sessions/${session}/transition`, { state: to }, `${run}:${step}`);
  }

  /** Moves the session to inProgress. A session that was finished is queued again, unless a person has cancelled it meanwhile. */
  async start() {
    const { state } = this.spool;
    const moved = await this.move('inProgress', `start-${state.starts}`).catch((error) => this.restart(error, 1));
    state.starts += 1;
    const isFirst = !state.isStarted;
    state.isStarted = true;
    this.spool.save();
    this.back();
    if (isFirst) say(moved?.htmlUrl ?? `${GATEWAY}/sessions/${state.session}`);
  }

  /** Other recorders may move the session at the same time. */
  async restart(error: unknown, tries: number): Promise<Answer | undefined> {
    const { starts, isStarted } = this.spool.state;
    if (!isConflict(error) || tries > 5) throw error;
    if (/is inProgress/.test(error.message)) return undefined;
    if (isStarted && /is cancelled/.test(error.message)) throw new Refusal(409, 'the session was cancelled');
    const step = `start-${starts}-${tries}`;
    await this.move('queued', `${step}:queued`).catch((refused) => {
      if (!isConflict(refused)) throw refused;
    });
    return this.move('inProgress', step).catch((again) => this.restart(again, tries + 1));
  }

  /** Records why the agent failed, and sets the state of the session. @returns whether nothing is left to do */
  async finish() {
    const { spool } = this;
    const { state } = spool;
    try {
      if (state.errorText !== undefined) {
        await this.append(errorEvent(state), 'application/json');
        delete state.errorText;
        spool.save();
      }
      if (othersIn(spool)) say('another recorder still records into the session, and sets its state');
      else if (state.outcome !== undefined) await this.end(state.outcome);
      return true;
    } catch (error) {
      this.failed(error);
      return false;
    }
  }

  async end(outcome: 'completed' | 'failed') {
    const { starts } = this.spool.state;
    await this.move(outcome, `end-${starts}`).catch(async (error: unknown) => {
      if (!isConflict(error) || new RegExp(`is ${outcome}`).test(error.message)) return undefined;
      if (/is cancelled/.test(error.message)) return say(`the state of the session is not changed: ${error.message}`);
      // Another recorder has finished it otherwise.
      await this.start();
      return this.move(outcome, `end-${starts + 1}`);
    });
  }

  failed(error: unknown) {
    if (error instanceof Refusal) return this.refuse(error.message);
    const { pauseMs } = error as { pauseMs?: number };
    this.pauseMs = Math.min(MAX_PAUSE_MS, pauseMs ?? Math.max(SEND_EVERY_MS, this.pauseMs * 2));
    const problem = textOf(error);
    if (problem !== this.problem) say(`${problem}. Lines are kept in ${this.spool.place} until they are sent`);
    this.problem = problem;
  }

  back() {
    if (this.problem !== undefined) say('the gateway takes lines again');
    this.problem = undefined;
    this.pauseMs = 0;
  }
}

/** The end of the standard error of an agent that failed. */
export function errorEvent({ run, agent, errorText: accumulatedText }: State) {
  const eventData = { type: 'error', source: 'system', delivery: 'persist', accumulatedText };
  const event = { eventType: 'error', provider: agent ?? 'recorder', eventData };
  return JSON.stringify({ batchId: `${run}:error`, events: [event] });
}

/** Sends until everything is sent or the time is over. @returns whether everything is sent */
export async function sendRest(sender: Sender, waitMs: number) {
  const { spool } = sender;
  for (const end = Date.now() + waitMs; sender.refusal === undefined;) {
    if ((await sender.flush()) && spool.isSent && (await sender.finish())) {
      spool.remove();
      return true;
    }
    if (sender.refusal !== undefined || Date.now() + sender.pauseMs > end) break;
    await new Promise((resolve) => setTimeout(resolve, sender.pauseMs));
  }
  const lost = spool.keep();
  const kept = spool.size - spool.state.sent - lost;
  spool.save();
  if (lost > 0) say(`${lost} bytes are not sent, and are lost, because they were only in memory`);
  if (spool.folder === undefined) return false;
  const what = kept > 0 ? `${kept} bytes are not sent. They are` : 'the end of the recording is not sent. It is';
  say(`${what} in ${spool.folder}; send them with: node record.mjs --resume ${spool.folder}`);
  return false;
}

/** @returns a function that stops it */
export function sendEachSecond(sender: Sender) {
  let isStopped = false;
  let wake: () => void = () => undefined;
  const sending = (async () => {
    while (!isStopped) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, Math.max(paceMs, sender.pauseMs));
        wake = () => (clearTimeout(timer), resolve(undefined));
      });
      if (!isStopped) await sender.flush();
    }
  })();
  return () => {
    isStopped = true;
    wake();
    return sending;
  };
}
