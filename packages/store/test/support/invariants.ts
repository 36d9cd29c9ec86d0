import { DELIVERY_STATUSES } from '@breakwater/contracts/delivery';
import { DESTINATIONS, type Destination, destinationOf, queueOf, SCHEDULE_LENGTH } from './rules.ts';
import type { World } from './world.ts';

type Record_ = Readonly<Record<string, string>>;

export interface Picture {
  readonly now: number;
  readonly records: ReadonlyMap<string, Record_>;
  readonly ledger: Readonly<Record<string, number>>;
  readonly alarms: ReadonlySet<string>;
  readonly waiting: ReadonlyMap<string, readonly string[]>;
  readonly gates: ReadonlySet<string>;
  readonly byStatus: ReadonlyMap<string, readonly string[]>;
  readonly byClass: ReadonlyMap<string, readonly string[]>;
  /** Group -> dead letters in it, and the groups with their sizes. */
  readonly byGroup: ReadonlyMap<string, readonly string[]>;
  readonly groupSizes: Record_;
  readonly all: readonly string[];
  readonly settled: readonly string[];
  readonly runs: ReadonlyMap<string, Record_>;
}

/** Classes that the model's attempts fail with. */
const CLASSES = [
  'timeout_response',
  'failed',
  'gone',
  'unknown',
  'rejected',
  'absent',
  'interrupted',
  'reference_conflict',
];
const GROUPS = Object.keys(DESTINATIONS).flatMap((destination) =>
  ['', ...CLASSES].map((each) => `${destination}:${each}`),
);
const GATES = [...Object.keys(DESTINATIONS), 'erp_looks/x', 'erp_looks/y', 'retries'];

/** Every key given, as JSON texts: one step, and one short reply, since this is asked for after every operation. */
const READ = `
local out = { cjson.encode(redis.call('TIME')) }
for i, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  if kind == 'hash' then out[i + 1] = cjson.encode(redis.call('HGETALL', key))
  elseif string.find(key, ':dead-groups:', 1, true) then out[i + 1] = cjson.encode(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'))
  elseif kind == 'set' then out[i + 1] = cjson.encode(redis.call('SMEMBERS', key))
  elseif kind == 'zset' then out[i + 1] = cjson.encode(redis.call('ZRANGE', key, 0, -1))
  else out[i + 1] = '[]' end
end
return out`;

/** Everything at one moment. Records that have not changed are the same objects as in `before`. */
export async function takePicture(
  { store, ids, runs }: World,
  before: Picture | undefined,
): Promise<Picture> {
  const { redis, keys } = store;
  const names = [
    keys.ledger,
    keys.alarms('deliveries'),
    keys.alarms('erp'),
    keys.gates,
    ...GATES.map((gate) => keys.waiting(gate)),
    ...DELIVERY_STATUSES.map((status) => keys.byStatus('default', status)),
    ...CLASSES.map((each) => keys.byClass('default', each)),
    ...GROUPS.map((group) => keys.byDeadGroup('default', group)),
    keys.deadGroups('default'),
    keys.byOperator('default'),
    ...ids.map((id) => keys.delivery(id)),
    ...runs.map((run) => keys.replayRun(run)),
    keys.settled,
  ];
  const texts = (await redis.eval(READ, names.length, ...names)) as string[];
  const list = (text = ''): string[] => JSON.parse(text) as string[];
  const hash = (text = ''): Record_ => {
    const flat = list(text);
    return Object.fromEntries(
      Array.from({ length: flat.length / 2 }, (_, index) => [
        flat[2 * index] ?? '',
        flat[2 * index + 1] ?? '',
      ]),
    );
  };
  const [time, ledger, deliveries, erp, gates, ...rest] = texts;
  const records = new Map<string, Record_>();
  const classesAt = GATES.length + DELIVERY_STATUSES.length;
  const groupsAt = classesAt + CLASSES.length;
  const allAt = groupsAt + GROUPS.length + 1;
  for (const [index, id] of ids.entries()) {
    const text = rest[allAt + 1 + index] ?? '';
    const known = before?.records.get(id);
    records.set(id, known && textOf.get(known) === text ? known : remember(hash(text), text));
  }
  const [seconds, micros] = list(time);
  return {
    now: Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000),
    ledger: Object.fromEntries(Object.entries(hash(ledger)).map(([field, value]) => [field, Number(value)])),
    alarms: new Set([...list(deliveries), ...list(erp)]),
    gates: new Set(list(gates)),
    waiting: new Map(GATES.map((gate, index) => [gate, list(rest[index])])),
    byStatus: new Map(DELIVERY_STATUSES.map((status, index) => [status, list(rest[GATES.length + index])])),
    byClass: new Map(CLASSES.map((each, index) => [each, list(rest[classesAt + index])])),
    byGroup: new Map(GROUPS.map((group, index) => [group, list(rest[groupsAt + index])])),
    groupSizes: hash(rest[allAt - 1]),
    all: list(rest[allAt]),
    settled: list(rest[allAt + 1 + ids.length + runs.length]),
    runs: new Map(runs.map((run, index) => [run, hash(rest[allAt + 1 + ids.length + index])])),
    records,
  };
}

const textOf = new WeakMap<Record_, string>();
function remember(record: Record_, text: string): Record_ {
  textOf.set(record, text);
  return record;
}

const fail = (message: string, facts?: unknown): never => {
  throw new Error(`${message}${facts === undefined ? '' : ` ${JSON.stringify(facts)}`}`);
};
const isTerminal = (record: Record_): boolean =>
  ['sent', 'dead_letter', 'resolved'].includes(record['status'] ?? '');
const inFlight = (record: Record_, now: number): boolean =>
  record['run'] !== undefined && Number(record['runUntil']) > now;
const labelOf = (id: string): string => (queueOf(id) === 'erp' ? destinationOf(id).slice(4) : 'endpoint');
const rowsOf = (record: Record_): [string, string][] =>
  Object.entries(record).filter(([field]) => /^[al]\d+$/.test(field));

export function checkPicture(world: World, picture: Picture, before: Picture | undefined): void {
  checkCounters(world, picture);
  checkIndexes(picture);
  for (const [id, record] of picture.records) {
    checkReachable(id, record, picture);
    const old = before?.records.get(id);
    if (record !== old) checkRows(id, record, old ?? {});
  }
  checkSlots(picture);
  checkRuns(picture);
  for (const [gate, waiters] of picture.waiting)
    if (waiters.length > 0 && !picture.gates.has(gate))
      fail(`nobody looks at gate ${gate}, which has waiters`);
}

function checkCounters(world: World, { records, ledger }: Picture): void {
  const expected: Record<string, number> = {};
  const add = (field: string, by: number): void => void (expected[field] = (expected[field] ?? 0) + by);
  for (const name of ['endpoint', 'looks', 'blind'])
    for (const status of DELIVERY_STATUSES) add(`status:${name}:${status}`, 0);
  for (const [id, record] of [...records, ...world.left]) {
    const label = labelOf(id);
    add(`created:${label}`, 1);
    add(records.has(id) ? `status:${label}:${record['status'] ?? ''}` : `expired:${label}`, 1);
    for (const field in record) if (record[field]?.includes('|interrupted|')) add('interrupted', 1);
    add('begun', Number(record['attempts']));
    if (queueOf(id) !== 'erp') continue;
    add(`expected:${label}`, 1);
    const created = world.created.get(id)?.size ?? 0;
    const postings = world.found.has(id) ? Math.max(1, created) : created;
    add(`postings:${label}`, postings);
    add(`doubles:${label}`, Math.max(0, postings - 1));
    add(`resolved:${label}`, record['status'] === 'resolved' && postings === 0 ? 1 : 0);
  }
  const begun = (ledger['attempts:schedule'] ?? 0) + (ledger['attempts:replay'] ?? 0) + world.deferred;
  if (begun !== expected['begun'])
    fail('the attempts of the ledger are not those of the records', { begun, expected: expected['begun'] });
  delete expected['begun'];
  for (const [field, value] of Object.entries(expected))
    if ((ledger[field] ?? 0) !== value) fail(`ledger ${field} is ${ledger[field]}, the records say ${value}`);
}

function checkIndexes({ records, byStatus, byClass, byGroup, groupSizes, all, settled }: Picture): void {
  const counted = [...records]
    .filter(
      ([, { status, created, found }]) =>
        status === 'resolved' && Number(created ?? 0) + Number(found ?? 0) > 0,
    )
    .map(([id]) => id);
  if (counted.toSorted().join() !== [...settled].toSorted().join())
    fail('the resolved ones whose posting is counted are others', { settled, counted });
  for (const [group, listed] of byGroup) {
    const real = [...records]
      .filter(
        ([id, record]) =>
          record['status'] === 'dead_letter' && `${destinationOf(id)}:${record['class'] ?? ''}` === group,
      )
      .map(([id]) => id);
    if (real.toSorted().join() !== [...listed].toSorted().join())
      fail(`the group ${group} is not its dead letters`, { listed, real });
    if ((groupSizes[group] ?? '0') !== String(real.length))
      fail(`the group ${group} holds ${real.length}, its count says ${groupSizes[group]}`);
  }
  const existing = [...records].filter(([, record]) => record['status'] !== undefined).map(([id]) => id);
  if (existing.toSorted().join() !== [...all].toSorted().join())
    fail('the index of all deliveries is not the records', { all, existing });
  for (const [each, listed] of byClass) {
    const real = [...records].filter(([, record]) => record['class'] === each).map(([id]) => id);
    if (real.toSorted().join() !== [...listed].toSorted().join())
      fail(`the index of ${each} is not its records`, { listed, real });
  }
  for (const [status, listed] of byStatus) {
    const real = [...records].filter(([, record]) => record['status'] === status).map(([id]) => id);
    if (real.toSorted().join() !== [...listed].toSorted().join())
      fail(`the index of ${status} is not its records`, { listed, real });
  }
}

/** Whatever is not done, somebody will come back to. */
function checkReachable(id: string, record: Record_, { alarms, waiting }: Picture): void {
  const gates = [
    destinationOf(id) as string,
    ...(record['keyGate'] === undefined ? [] : [record['keyGate']]),
    'retries',
  ];
  const known = (alarmId: string): boolean =>
    alarms.has(alarmId) || gates.some((gate) => waiting.get(gate)?.includes(alarmId));
  const alarmId = `${id}-${record['seq'] ?? ''}`;
  if (!isTerminal(record) && !known(alarmId)) fail(`the alarm of ${alarmId} is lost`, record);
  if ((record['replayId'] ?? '') !== '' && !known(`${id}-r${record['replayId']}`))
    fail(`the replay of ${id} is lost`, record);
  if (record['run'] !== undefined && ![...alarms].some((each) => each.startsWith(`${id}-`)))
    fail(`nobody looks whether attempt ${record['run']} of ${id} has died`, record);
  if (record['status'] === 'held' && !gates.some((gate) => waiting.get(gate)?.includes(alarmId)))
    fail(`${id} is held and does not wait`, record);
}

/** Rows are appended, never rewritten, and numbers only grow. */
function checkRows(id: string, record: Record_, before: Record_): void {
  checkClass(id, record);
  for (const [field, row] of rowsOf(before))
    if (record[field] !== row)
      fail(`row ${field} of ${id} was rewritten`, { before: row, now: record[field] });
  for (const field of ['attempts', 'seq', 'replaysMade'])
    if (Number(record[field] ?? 0) < Number(before[field] ?? 0)) fail(`${field} of ${id} went back`);
  if (Number(record['scheduleMade']) > SCHEDULE_LENGTH)
    fail(`${id} has more scheduled attempts than its schedule`, record);
  if (record['run'] !== undefined && record[`a${record['run']}`] !== undefined)
    fail(`attempt ${record['run']} of ${id} has a row and is in flight`);
}

/** The class of a record is that of its latest row, unless a success was learnt late: then it may be none. */
function checkClass(id: string, record: Record_): void {
  const rows = rowsOf(record);
  const latest = rows
    .filter(([field]) => field.startsWith('a'))
    .toSorted(([a], [b]) => Number(b.slice(1)) - Number(a.slice(1)))[0]?.[1]
    .split('|')[4];
  const known = record['class'] ?? '';
  if (known !== '' && known !== latest)
    fail(`${id} is listed under ${known}, its latest attempt says ${latest}`);
  const late = rows.some(([field, row]) => field.startsWith('l') && SUCCESS.has(row.split('|')[1] ?? ''));
  if (known === '' && CLASSES.includes(latest ?? '') && !late)
    fail(`${id} failed with ${latest} and is listed nowhere`, record);
}
const SUCCESS: ReadonlySet<string> = new Set(['sent', 'posted', 'already_posted']);

function checkSlots({ records, now }: Picture): void {
  const flying = [...records].filter(([, record]) => inFlight(record, now));
  for (const [destination, { cap }] of Object.entries(DESTINATIONS) as [Destination, { cap: number }][]) {
    const there = flying.filter(
      ([id, record]) =>
        destinationOf(id) === destination &&
        (queueOf(id) === 'erp' || record['runTrigger'] === 'schedule' || record['replayRun'] !== undefined),
    );
    if (there.length > cap) fail(`${there.length} attempts in flight at ${destination}, its cap is ${cap}`);
  }
  const keys = flying.map(([, record]) => record['keyGate']).filter((key) => key !== undefined);
  if (new Set(keys).size < keys.length) fail('two attempts of one key in flight', keys);
}

/** Whatever a run has asked for has its result, or still tells the run when it gets one. */
function checkRuns({ records, runs }: Picture): void {
  for (const [id, run] of runs) {
    const open = [...records.values()].filter((record) => record['replayRun'] === id).length;
    const { requested, sent, failed, state } = run;
    if (Number(requested) !== Number(sent) + Number(failed) + open)
      fail(`run ${id} does not add up with ${open} open`, run);
    if (state === 'done' && open > 0) fail(`run ${id} is done with ${open} open`, run);
  }
  for (const [id, { replayRun }] of records)
    if (replayRun !== undefined && !runs.has(replayRun)) fail(`${id} belongs to a run that is not there`);
}
