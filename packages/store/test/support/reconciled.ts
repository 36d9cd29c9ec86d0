import { readWalkPage, type Suspect, type WalkPosition } from '../../src/reconcile-page.ts';
import type { Picture } from './invariants.ts';
import { queueOf } from './rules.ts';
import type { World } from './world.ts';

const TARGETS = ['erp_looks', 'erp_blind'];
const OPEN = ['pending', 'failed', 'held'];
const PAGE = 7; // pages must not matter

/** What a reconciliation says must be what happened: every excess is named, nothing that is well is, and nothing is left out. */
export async function checkReconciled(world: World, { records, ledger }: Picture): Promise<void> {
  await checkIndexes(world, records);
  const suspects = new Map<string, Suspect>();
  for (const destination of TARGETS)
    for (const suspect of await suspectsAt(world, destination)) suspects.set(suspect.delivery, suspect);
  for (const [id, record] of records) {
    if (queueOf(id) !== 'erp') continue;
    const answers = world.created.get(id)?.size ?? 0;
    const suspect = suspects.get(id);
    if (answers > 1 && suspect?.record?.created !== answers)
      fail(`${id} was created ${answers} times and is not named`, { record, suspect });
    if (suspect) {
      if (suspect.record?.armed === 'no' && !suspect.record.inFlight) fail(`${id} is not armed`, record);
      continue;
    }
    const { status = '' } = record;
    const posted = answers > 0 || world.found.has(id);
    if (
      !(status === 'sent' && posted) &&
      status !== 'resolved' &&
      !OPEN.includes(status) &&
      record['run'] === undefined
    )
      fail(`${id} has no posting, is neither settled nor on its way, and is not named`, record);
  }
  for (const label of ['looks', 'blind']) {
    const ids = [...records.keys(), ...world.left.keys()].filter((id) => id.endsWith(`.erp_${label}`));
    const distinct = ids.filter((id) => (world.created.get(id)?.size ?? 0) > 0 || world.found.has(id)).length;
    const postings = ledger[`postings:${label}`] ?? 0;
    if (postings < distinct)
      fail(`the ledger counts ${postings} postings of ${label}, and ${distinct} events have one`);
  }
}

async function suspectsAt({ store }: World, destination: string): Promise<Suspect[]> {
  const suspects: Suspect[] = [];
  let after: WalkPosition | undefined;
  for (;;) {
    const page = await readWalkPage(store.redis, store.keys, {
      destination,
      since: 0,
      until: Number.MAX_SAFE_INTEGER,
      after,
      limit: PAGE,
      graceMs: 1e12,
      operators: ['default'],
      documents: undefined,
    });
    suspects.push(...page.suspects);
    if (page.ended) return suspects;
    after = page.position;
  }
}

async function checkIndexes({ store }: World, records: Picture['records']): Promise<void> {
  const { redis, keys } = store;
  const open = (
    await Promise.all(['endpoint', 'looks', 'blind'].map((label) => redis.zrange(keys.open(label), 0, '-1')))
  )
    .flat()
    .map(String);
  const real = [...records].filter(([, { status = '' }]) => OPEN.includes(status)).map(([id]) => id);
  same('what is open', open, real);
  const events = new Set([...records.keys()].map((id) => id.slice(0, id.indexOf('.'))));
  same('what is recorded', (await redis.zrange(keys.recorded, 0, '-1')).map(String), [...events]);
}

function same(what: string, listed: readonly string[], real: readonly string[]): void {
  const text = (ids: readonly string[]): string => ids.toSorted((a, b) => (a < b ? -1 : 1)).join(' ');
  if (text(listed) !== text(real)) fail(`the index of ${what} is not its records`, { listed, real });
}

function fail(message: string, facts?: unknown): never {
  throw new Error(facts === undefined ? message : `${message} ${JSON.stringify(facts)}`);
}
