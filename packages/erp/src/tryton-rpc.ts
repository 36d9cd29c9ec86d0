import type { TrytonAdapter } from '@breakwater/contracts/tryton-config';
import type { HttpClient } from '@breakwater/http/client';
import type { PostGuard } from './adapter.ts';
import { type Answer, type Trouble, asRead, interpret, isTrouble, notSent } from './tryton-answer.ts';
import { type Session, type Sessions, createSessions } from './tryton-session.ts';
import { callBody } from './tryton-wire.ts';

/** Who calls, and until when (performance.now). */
export interface Caller {
  readonly deadline: number;
  readonly signal?: AbortSignal | undefined;
}

export interface WritingCaller extends Caller {
  readonly guard: PostGuard;
}

/** Params of a call; the context that every method takes last is added. */
type Params = (session: Session) => readonly unknown[];

export interface Rpc {
  /** A call that changes nothing. Its troubles are `failed` or `withheld`, whatever became of it. */
  readonly read: (method: string, params: Params, caller: Caller) => Promise<Answer>;
  /** A call that changes something: sent once, on a connection of its own, while `mayWrite` says so. */
  readonly write: (method: string, params: Params, caller: WritingCaller) => Promise<Answer>;
  readonly session: (caller: Caller) => Promise<Session | Trouble>;
}

/** A page of a list. An answer that is longer proves nothing. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

interface Send {
  readonly method: string;
  readonly params: Params;
  readonly caller: Caller;
  readonly guard?: PostGuard;
}

export function createRpc(client: HttpClient, config: TrytonAdapter): Rpc {
  const url = new URL(`${config.database}/`, config.baseUrl.replace(/\/*$/, '/')).href;
  const sessions: Sessions = createSessions(client, url, config);
  let calls = 0;

  const send = async (session: Session, { method, params, caller, guard }: Send): Promise<Answer> => {
    const remainingMs = caller.deadline - performance.now();
    if (remainingMs <= 0) return notSent('timeout_response', `No time was left for ${method}.`);
    const id = (calls += 1);
    const signal = caller.signal ?? guard?.signal;
    const outcome = await client.request({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', authorization: session.authorization },
      body: callBody(id, method, [...params(session), { company: session.company, language: 'en' }]),
      timeoutMs: remainingMs,
      maxBodyBytes: MAX_ANSWER_BYTES,
      repeatable: guard === undefined,
      ...(guard && { mayWrite: guard.mayWrite }),
      ...(signal && { signal }),
    });
    return interpret(outcome, { id, method, config, secrets: [config.password, ...session.secrets] });
  };

  /** A session that is over refuses a call before it begins, so the same call goes out again after one login. */
  const call = async (request: Send): Promise<Answer> => {
    const session = await sessions.get(request.caller.deadline);
    if (isTrouble(session)) return session;
    const answer = await send(session, request);
    if (answer.kind !== 'failed' || answer.sessionEnded !== true) return answer;
    sessions.ended(session);
    const fresh = await sessions.get(request.caller.deadline);
    return isTrouble(fresh) ? fresh : await send(fresh, request);
  };

  return {
    async read(method, params, caller) {
      const answer = await call({ method, params, caller });
      return answer.kind === 'result' ? answer : asRead(answer);
    },
    write: (method, params, caller) => call({ method, params, caller, guard: caller.guard }),
    session: (caller) => sessions.get(caller.deadline),
  };
}
