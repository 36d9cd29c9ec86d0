import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { BullBoardQueues, IServerAdapter, UIConfig } from '@bull-board/api/typings/app';
import { QUEUES } from '@breakwater/contracts/jobs';
import type { Logger } from '@breakwater/runtime/logger';
import type { Keyspace } from '@breakwater/store/keys';
import { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { quiet } from './connection.ts';

/** What bull-board is asked, in its own words. */
export interface BoardQuestion {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

/** bull-board without its web server, and without everything of it that changes something. */
export interface QueueBoard {
  /** Its questions; paths as express writes them. Every one of them only reads. */
  readonly reads: readonly {
    readonly path: string;
    readonly answer: (
      question: BoardQuestion,
    ) => Promise<{ readonly status: number; readonly body: unknown }>;
  }[];
  /** The paths of its one page. */
  readonly pages: readonly string[];
  /** The folder of its files, which the page asks for under `static/`. */
  readonly files: string;
  /** The scripts and the style sheet of its page, below `static/`. */
  readonly scripts: readonly string[];
  readonly styles: readonly string[];
  /** What its page is told, as JSON that may stand in a script element. */
  readonly config: string;
  readonly close: () => Promise<void>;
}

const HIDDEN = 'not shown here: the event page of the console shows it, to whoever may see it';

/**
 * The queues as bull-board shows them, to look at. Its actions (remove, clean, retry, promote) would take jobs away behind the
 * records' back, and the dedupe key of an event with them: they are switched off in it and never reach a server. Nothing is
 * written to Redis, not even a queue's own description.
 */
export function createQueueBoard(redis: Redis, keys: Keyspace, logger: Logger): QueueBoard {
  const queues = Object.values(QUEUES).map((name) => {
    const queue = new Queue(name, { connection: redis, prefix: keys.queues, skipMetasUpdate: true });
    quiet(queue, logger);
    return queue;
  });
  const server = new ReadsOnly();
  createBullBoard({
    queues: queues.map((queue) =>
      queue.name === QUEUES.events
        ? new EventsAdapter(queue, redis)
        : new LookOnly(queue, { readOnlyMode: true }),
    ),
    serverAdapter: server,
    options: {
      uiConfig: {
        boardTitle: 'Queues', // there is room for one word
        hideDocsLink: true,
        hideRedisDetails: true, // their picture styles itself inline, which no page here may
        locale: { lng: 'en-US' },
      },
    },
  });
  return {
    ...server.board(),
    close: async () => void (await Promise.all(queues.map((queue) => queue.close()))),
  };
}

class LookOnly extends BullMQAdapter {
  /** The queue of dead letters has none on purpose: null keeps it from being shown as one that nobody serves. */
  override getWorkers(): ReturnType<BullMQAdapter['getWorkers']> {
    return this.getQueueName() === QUEUES.deadLetters ? Promise.resolve(null) : super.getWorkers();
  }

  /** No job of ours has children; and the tree of a job is read with all of its data. */
  override getFlowProducer(): Promise<null> {
    return Promise.resolve(null);
  }
}

/** An `events` job carries the body of a webhook, up to 25 MiB of what others wrote: it is never read. */
class EventsAdapter extends LookOnly {
  readonly #events: Queue;
  readonly #redis: Redis;

  constructor(events: Queue, redis: Redis) {
    super(events, { readOnlyMode: true });
    this.#events = events;
    this.#redis = redis;
    this.setFormatter('data', () => HIDDEN);
  }

  override async getJob(id: string): Promise<Job | undefined> {
    const key = this.#events.toKey(id);
    const fields = (await this.#redis.hkeys(key)).filter((field) => field !== 'data');
    if (fields.length === 0) return undefined;
    const values = await this.#redis.hmget(key, ...fields);
    return jobOf(this.#events, id, Object.fromEntries(fields.map((field, at) => [field, values[at] ?? ''])));
  }

  override async getJobs(...[states, from, to]: Parameters<BullMQAdapter['getJobs']>): Promise<Job[]> {
    const known = states.filter((state) => state !== 'paused'); // BullMQ 6 has none: a paused queue's jobs wait
    const ids = await this.#events.getRanges(known, from, to);
    const jobs = await Promise.all(ids.map((id) => this.getJob(id)));
    return jobs.filter((job) => job !== undefined);
  }
}

/** A job as BullMQ 6 stores it (`rawToJobJson` of its redis-queue-backend.js), whatever it carries. */
function jobOf(queue: Queue, id: string, raw: Readonly<Record<string, string>>): Job {
  const number = (field: string): number => Number(raw[field] ?? 0);
  return Job.fromJSON(
    queue,
    {
      id,
      name: raw['name'] ?? '',
      data: '{}',
      opts: Job.optsFromJSON(raw['opts']),
      progress: 0, // none of our workers reports any
      delay: number('delay'),
      priority: number('priority'),
      timestamp: number('timestamp'),
      attemptsStarted: number('ats'),
      attemptsMade: number('atm'),
      stalledCounter: number('stc'),
      finishedOn: number('finishedOn'),
      processedOn: number('processedOn'),
      failedReason: raw['failedReason'] ?? '',
      returnvalue: raw['returnvalue'] ?? 'null',
      ...(raw['stacktrace'] !== undefined && { stacktrace: raw['stacktrace'] }),
      ...(raw['deid'] !== undefined && { deduplicationId: raw['deid'] }),
      ...(raw['pb'] !== undefined && { processedBy: raw['pb'] }),
      ...(raw['defa'] !== undefined && { deferredFailure: raw['defa'] }),
    },
    id,
  );
}

/** Takes what bull-board gives its server and keeps the questions alone. */
class ReadsOnly implements IServerAdapter {
  #queues: BullBoardQueues = new Map();
  #config: UIConfig = {};
  #reads: QueueBoard['reads'] = [];
  #pages: readonly string[] = [];
  #views = '';
  #files = '';
  #failure: Parameters<IServerAdapter['setErrorHandler']>[0] = () => ({ status: 500, body: {} });

  setQueues(queues: BullBoardQueues): this {
    this.#queues = queues;
    return this;
  }
  setUIConfig(config: UIConfig): this {
    this.#config = config;
    return this;
  }
  setViewsPath(path: string): this {
    this.#views = path;
    return this;
  }
  setStaticPath(_route: string, path: string): this {
    this.#files = path;
    return this;
  }
  setErrorHandler(handler: Parameters<IServerAdapter['setErrorHandler']>[0]): this {
    this.#failure = handler;
    return this;
  }
  setEntryRoute({ route }: Parameters<IServerAdapter['setEntryRoute']>[0]): this {
    this.#pages = [route].flat();
    return this;
  }
  setApiRoutes(routes: Parameters<IServerAdapter['setApiRoutes']>[0]): this {
    this.#reads = routes
      .filter(({ method }) => [method].flat().every((each) => each === 'get'))
      .flatMap((route) =>
        [route.route].flat().map((path) => ({
          path,
          answer: async ({ params, query }: BoardQuestion) => {
            const asked = {
              queues: this.#queues,
              uiConfig: this.#config,
              params,
              query,
              body: {},
              headers: {},
            };
            try {
              const { status = 200, body } = await route.handler(asked);
              return { status, body };
            } catch (error) {
              const { status = 500, body } = this.#failure(
                error instanceof Error ? error : new Error(String(error)),
              );
              return { status, body };
            }
          },
        })),
      );
    return this;
  }

  /** Not its own page: that one asks another site for its fonts and styles itself inline. */
  board(): Omit<QueueBoard, 'close'> {
    const page = readFileSync(join(this.#views, 'index.ejs'), 'utf8');
    const named = (pattern: RegExp): string[] => [...page.matchAll(pattern)].map(([, name = '']) => name);
    return {
      reads: this.#reads,
      pages: this.#pages,
      files: this.#files,
      scripts: named(/<script defer src="static\/([\w./-]+)"/g),
      styles: named(/<link href="static\/([\w./-]+)" rel="stylesheet"/g),
      config: JSON.stringify(this.#config).replaceAll('<', String.raw`\u003c`),
    };
  }
}
