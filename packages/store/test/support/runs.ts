import { newId } from '@breakwater/contracts/ids';
import {
  advanceReplayRun,
  changeReplayRun,
  createReplayRun,
  type NewReplayRun,
  readReplayRun,
} from '../../src/replay-runs.ts';
import type { Store } from './store.ts';

/** Starts a run that may ask for everything at once. Resolves to its id. */
export async function startRun(
  store: Store,
  deliveries: readonly string[],
  more: Partial<NewReplayRun> = {},
): Promise<string> {
  const id = more.id ?? newId();
  const refusal = await tryRun(store, deliveries, { ...more, id });
  if (refusal) throw new Error(`refused: ${JSON.stringify(refusal)}`);
  return id;
}

/** Resolves to why not, where it was not started. */
export const tryRun = (store: Store, deliveries: readonly string[], more: Partial<NewReplayRun> = {}) =>
  createReplayRun(store.redis, store.keys, {
    id: newId(),
    operator: 'default',
    actor: 'tester',
    reason: 'test',
    filter: 'test',
    deliveries,
    found: false,
    status: 'dead_letter',
    mode: 'single',
    acknowledged: false,
    perSecond: 1_000_000,
    destinationPerSecond: undefined,
    mayBeOpen: 1_000,
    stopAfter: 0,
    ...more,
  });

export const advance = (store: Store, run: string, limit = 100) =>
  advanceReplayRun(store.redis, store.keys, store.policy, run, limit);

export async function runOf(store: Store, id: string) {
  const run = await readReplayRun(store.redis, store.keys, 'default', id);
  if (!run) throw new Error(`run ${id} is gone`);
  return run;
}

export const change = (
  store: Store,
  id: string,
  action: 'cancel' | 'resume' | 'fail',
  operator = 'default',
) => changeReplayRun(store.redis, store.keys, { id, operator, action, actor: 'tester', reason: 'why' });

/** A delivery that was given up at its first attempt. */
export async function dead(store: Store, destination?: string): Promise<string> {
  const id = await store.delivery(destination);
  await store.attempt(id, 'gone');
  return id;
}

export async function deads(store: Store, count: number, destination?: string): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await dead(store, destination));
  return ids;
}
