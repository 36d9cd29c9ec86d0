import { getHeapStatistics } from 'node:v8';
import type { AttemptResult } from '@breakwater/contracts/attempt-result';
import { erpTargetOf, parseDeliveryId } from '@breakwater/contracts/ids';
import { remedyFor } from '@breakwater/contracts/failure-class';
import type { ErpAdapter, FindResult, PostResult } from '@breakwater/erp/adapter';
import type { Evaluated } from '@breakwater/erp/expression';
import { memoryOfJson } from '@breakwater/erp/json';
import type { MappingInput } from '@breakwater/erp/mapping';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import type { Redis } from '@breakwater/store/connection';
import { fixReference } from '@breakwater/store/deliveries';
import type { Keyspace } from '@breakwater/store/keys';
import type { Go } from '@breakwater/store/go';
import type { AttemptClock } from './attempt-clock.ts';
import type { Performer } from './attempts.ts';
import { contentOf } from './event-content.ts';
import { createMemoryBudget } from './memory-budget.ts';
import { leaseCovers } from './send-to-endpoint.ts';

export interface ErpPosterDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly targets: ReadonlyMap<string, ReadyErpTarget>;
  /** Runs a call to the ERP through the circuit breaker of its target; a refused call is `deferred`. */
  readonly guarded: (
    target: string,
    probe: boolean,
    call: () => Promise<AttemptResult>,
  ) => Promise<AttemptResult>;
  readonly signal: AbortSignal;
  /** What the heap may grow to; this process' own limit by default. */
  readonly heapBytes?: number;
}

/**
 * Makes one attempt at an ERP: map, look up, post. Never twice, even without a unique constraint there:
 * - the attempt is on record before anything is sent (beginAttempt wrote the intent);
 * - the reference is looked up first, always where an earlier attempt may have been applied;
 * - an outcome that is not known is `unknown`, and only a look-up after the settle time decides what follows;
 * - the lease is asked again in the tick of the write.
 */
export function createErpPoster(deps: ErpPosterDeps): Performer {
  const heapBytes = deps.heapBytes ?? getHeapStatistics().heap_size_limit;
  const budgetBytes = heapBytes * SHARE_OF_HEAP;
  const memory = createMemoryBudget(budgetBytes);
  return async (go, event, clock) => {
    const needed = COPIES * memoryOfJson(event.body);
    if (needed > heapBytes)
      return mappingFailed(
        `The event takes about ${inMiB(needed)} of memory while it is posted, and a process may use ${inMiB(heapBytes)}: give it more (NODE_OPTIONS=--max-old-space-size, the container's limit), then replay.`,
      );
    if (needed < budgetBytes / UNCOUNTED) return await attempt(deps, go, event, clock);
    const release = await memory.take(needed, MEMORY_WAIT_MS, deps.signal);
    if (!release) return { kind: 'deferred', message: 'large documents are being posted; this one waits' };
    try {
      return await attempt(deps, go, event, clock);
    } finally {
      release();
    }
  };
}

/** An event is held parsed, and as the document that is made of it, until its attempt ends. */
const COPIES = 2;
/** The rest is for the process itself, for answers, and for what is garbage already. */
const SHARE_OF_HEAP = 0.4;
/** A process makes a hundred attempts at once: those below this part are never too much, and wait for no large one of a hung ERP. */
const UNCOUNTED = 200;
/** Taken from the margin of the lease (10 s), which is for stalls. */
const MEMORY_WAIT_MS = 5_000;

const inMiB = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;

async function attempt(
  deps: ErpPosterDeps,
  ...[go, event, clock]: Parameters<Performer>
): Promise<AttemptResult> {
  const name = erpTargetOf(parseDeliveryId(go.delivery)?.destination ?? '') ?? '';
  const target = deps.targets.get(name);
  if (!target)
    return {
      kind: 'failed',
      class: 'configuration',
      code: '',
      message: `No ERP target is called ${name} any more.`,
    };
  const input = contentOf(event).mappingInput;
  const reference = await referenceOf(deps, go, target, input);
  if (!reference.ok) return mappingFailed(reference.message);
  const document = await target.mapping.document(input, reference.value);
  // A look-up that is owed needs no document; everything else does, and nothing has been sent yet.
  if (!document.ok && go.lookupFor === '') return mappingFailed(document.message);
  const task = { target, go, clock, input, reference: reference.value, document, signal: deps.signal };
  return deps.guarded(name, go.probe, () => lookUpThenPost(task));
}

interface Task {
  readonly target: ReadyErpTarget;
  readonly go: Go;
  readonly clock: AttemptClock;
  readonly input: MappingInput;
  readonly reference: string;
  /** An error only where a look-up is all that is owed. */
  readonly document: Evaluated;
  readonly signal: AbortSignal;
}

/** The reference is fixed at fan-out. Where the mapping failed then, the first attempt at which it works fixes it. */
async function referenceOf(
  deps: ErpPosterDeps,
  go: Go,
  target: ReadyErpTarget,
  input: MappingInput,
): ReturnType<ReadyErpTarget['mapping']['reference']> {
  if (go.reference !== '') return { ok: true, value: go.reference };
  if (target.config.reference === undefined) return { ok: true, value: input.eventId };
  const mapped = await target.mapping.reference(input);
  return mapped.ok
    ? { ok: true, value: await fixReference(deps.redis, deps.keys, go.delivery, mapped.value) }
    : mapped;
}

const mappingFailed = (message: string): AttemptResult => ({
  kind: 'rejected',
  class: 'mapping',
  code: '',
  message: `${message} ${remedyFor('mapping')}`,
});

async function lookUpThenPost(task: Task): Promise<AttemptResult> {
  const { target, go } = task;
  const find = target.adapter.find?.bind(target.adapter);
  const mustLook =
    target.config.lookup === 'always' || go.doubt || go.lookupFor !== '' || go.trigger === 'replay';
  if (find && mustLook) {
    const found = await lookUp(task, find);
    if (found && found !== BEGUN) return found;
    // A document without effect is none: the dead letter says so, and a replay goes on with it.
    if (go.lookupFor !== '') return { kind: 'absent', code: found === BEGUN ? 'incomplete' : '' };
  }
  if (!task.document.ok) return mappingFailed(task.document.message);
  const { post } = target.config.adapter;
  const posted = await target.adapter.post(
    task.document.value,
    task.reference,
    { mayWrite: postWindow(task, post.timeout) },
    task.input,
  );
  return resultOf(posted, task, find);
}

/**
 * May the post write (again)? A post may take several writes, all within its one time-out from now, so a later write
 * needs the lease only for what is left of it.
 */
function postWindow({ clock, go, signal }: Task, timeoutMs: number): () => boolean {
  const begunAt = clock.elapsedMs();
  return () => {
    const leftMs = timeoutMs - (clock.elapsedMs() - begunAt);
    return !signal.aborted && leftMs > 0 && leaseCovers(clock, leftMs, go.leaseMs);
  };
}

type Find = NonNullable<ErpAdapter['find']>;

/** The ERP holds this event's document, begun and without effect: posting goes on with it. */
const BEGUN = Symbol('begun');

/**
 * A look-up changes nothing, so one that fails is read once more, unless it cannot even be asked for. Undefined: the ERP
 * says that it holds no such document.
 */
async function lookUp(task: Task, find: Find): Promise<AttemptResult | typeof BEGUN | undefined> {
  const document = task.document.ok ? task.document.value : undefined;
  let found = await find(task.reference, task.input, document);
  if (found.kind === 'failed' && found.class !== 'mapping')
    found = await find(task.reference, task.input, document);
  // Whether it is this event's may be read from the document. A person has to say so where none can be made any more.
  if (found.kind === 'found' && !found.belongs && !task.document.ok)
    return mappingFailed(
      `The ERP holds a document under ${task.reference}, and whose it is cannot be told: ${task.document.message}`,
    );
  return resultOfLookUp(found, task.reference);
}

function resultOfLookUp(found: FindResult, reference: string): AttemptResult | typeof BEGUN | undefined {
  switch (found.kind) {
    case 'absent':
      return undefined;
    case 'incomplete':
      return BEGUN;
    case 'found':
      if (!found.belongs) return conflict(reference);
      return { kind: 'already_posted', receipt: found.receipts[0] ?? '', code: '' };
    case 'failed':
      if (found.class === 'mapping') return mappingFailed(found.message);
      return {
        kind: 'failed',
        class: 'lookup_failed',
        code: found.code,
        message: `${found.message} ${remedyFor('lookup_failed')}`,
        ...(found.retryAfterMs !== undefined && { retryAfterMs: found.retryAfterMs }),
        ...(found.sample && { sample: found.sample }),
      };
  }
}

const conflict = (reference: string): AttemptResult => ({
  kind: 'reference_conflict',
  code: '',
  message: `The ERP holds a document of another event under ${reference}. ${remedyFor('erp_conflict')}`,
});

async function resultOf(posted: PostResult, task: Task, find: Find | undefined): Promise<AttemptResult> {
  const told = { code: posted.code, ...(posted.sample && { sample: posted.sample }) };
  switch (posted.kind) {
    case 'posted':
      return { kind: 'posted', receipt: posted.receipt, ...told };
    case 'already_posted': {
      // The ERP's word that it has one; whose it is, only a look-up tells.
      const found = find ? await lookUp(task, find) : undefined;
      if (found === undefined || found === BEGUN)
        return { kind: 'already_posted', receipt: posted.receipt, ...told };
      if (found.kind === 'reference_conflict' || found.kind === 'already_posted')
        return { ...found, ...told };
      return {
        kind: 'unknown',
        message: `The ERP has a document under ${task.reference} and did not say whose it is. ${remedyFor('erp_unknown')}`,
        ...told,
      };
    }
    case 'reference_conflict':
      return { ...conflict(task.reference), ...told };
    case 'rejected':
      return {
        kind: 'rejected',
        class: 'erp_rejected',
        message: `${posted.message} ${remedyFor('erp_rejected')}`,
        ...told,
      };
    case 'failed':
      // A path that cannot be made was never sent, and no repetition mends it.
      if (posted.class === 'mapping') return mappingFailed(posted.message);
      return {
        kind: 'failed',
        class: posted.class,
        message: posted.message,
        ...(posted.retryAfterMs !== undefined && { retryAfterMs: posted.retryAfterMs }),
        ...told,
      };
    case 'unknown':
      return { kind: 'unknown', message: `${posted.message} ${remedyFor('erp_unknown')}`, ...told };
    case 'withheld':
      return {
        kind: 'deferred',
        message: 'nothing was sent: the lease was nearly over or the process is stopping',
      };
  }
}
