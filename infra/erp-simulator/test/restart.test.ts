import { spawnSync } from 'node:child_process';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { startSimulator } from '../src/app.ts';
import { MAIN, defer, silent, start, startProcess, until } from './support.ts';

let dataFile = '';

beforeEach(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'erp-simulator-'));
  dataFile = join(directory, 'data', 'receipts.ndjson');
  defer(() => rm(directory, { recursive: true }));
});

test('every receipt that was answered survives kill -9, and numbers go on', async () => {
  const killed = await startProcess({ ERP_SIMULATOR_DATA: dataFile });
  const answered: string[] = [];
  const posting = Array.from({ length: 4 }, async (_, worker) => {
    for (let number = 1; ; number++) {
      const reference = `evt-${worker}-${number}`;
      await killed.post(reference, `warehouse-${worker}`);
      answered.push(reference);
      if (answered.length === 100) await killed.kill('SIGKILL');
    }
  });
  await Promise.allSettled(posting);
  expect(answered.length).toBeGreaterThanOrEqual(100);

  const erp = await startProcess({ ERP_SIMULATOR_DATA: dataFile });
  for (const reference of answered) {
    const { body } = await erp.request('GET', `/api/receipts?external_reference=${reference}`);
    expect(body).toMatchObject({ receipts: [{ external_reference: reference }] });
  }
  const { postings } = (await erp.stats()) as { postings: number };
  const next = `GR-${String(postings + 1).padStart(6, '0')}`;
  expect(await erp.post('evt-after')).toEqual({ status: 201, body: { receipt_no: next } });
});

test('a torn last line is dropped with a warning, and its number is given out again', async () => {
  const before = await start({ dataFile });
  await before.post('evt-1');
  await before.simulator.close();
  await appendFile(dataFile, '{"receipt_no":"GR-000002","external_refer');

  const erp = await startProcess({ ERP_SIMULATOR_DATA: dataFile });
  expect(erp.log).toContainEqual(expect.objectContaining({ level: 40, path: dataFile, droppedBytes: 41 }));
  expect(await erp.stats()).toMatchObject({ postings: 1 });
  expect(await erp.post('evt-2')).toMatchObject({ body: { receipt_no: 'GR-000002' } });
  await erp.kill('SIGTERM');

  const after = await start({ dataFile });
  expect(await after.stats()).toMatchObject({ postings: 2 });
});

test.each([
  ['a line in the middle that is no receipt', (lines: string[]) => [lines[0], '{', lines[1]]],
  ['a gap in the numbers', (lines: string[]) => [lines[1]]],
])('a data file with %s is not guessed at but refused', async (_what, damage) => {
  const before = await start({ dataFile });
  await before.post('evt-1');
  await before.post('evt-2');
  await before.simulator.close();
  const lines = (await readFile(dataFile, 'utf8')).trimEnd().split('\n');
  await writeFile(
    dataFile,
    damage(lines)
      .map((line) => `${line}\n`)
      .join(''),
  );
  const starting = startSimulator({ host: '127.0.0.1', port: 0, logger: silent, dataFile });
  await expect(starting).rejects.toMatchObject({ code: 'config_invalid' });
});

test('clearing empties the file too', async () => {
  const before = await start({ dataFile });
  await before.post('evt-1');
  await before.request('DELETE', '/api/receipts');
  await before.post('evt-2');
  await before.simulator.close();
  const after = await start({ dataFile });
  const { body } = await after.request('GET', '/api/receipts');
  expect(body).toMatchObject({ receipts: [{ receipt_no: 'GR-000001', external_reference: 'evt-2' }] });
});

test('a posting that cannot be written is answered 500, is not applied and does not spoil the next one', async () => {
  // The child may write 8 blocks of 512 bytes to a file: a real write that fails half-way.
  const erp = await startProcess({ ERP_SIMULATOR_DATA: dataFile }, 'ulimit -f 8; exec "$0" "$@"');
  expect(await erp.post('evt-1')).toMatchObject({ status: 201 });
  const lines = [{ note: 'x'.repeat(10_000) }];
  const big = { external_reference: 'evt-big', order_id: '1', warehouse: 'north', lines };
  expect(await erp.request('POST', '/api/receipts', big)).toMatchObject({ status: 500 });
  expect(await erp.post('evt-2')).toEqual({ status: 201, body: { receipt_no: 'GR-000002' } });
  expect(await erp.stats()).toMatchObject({ postings: 2 });
  await erp.kill('SIGKILL');

  const after = await start({ dataFile });
  expect(await after.stats()).toMatchObject({ postings: 2 });
});

test('every posting leaves one line in the log', async () => {
  const erp = await startProcess();
  await erp.post('evt-1');
  await erp.post('evt-1');
  await erp.faults({ errorRate: 1 });
  await erp.post('evt-2');
  const lines = () => erp.log.filter((line) => line['msg'] === 'posting');
  await until('the log has arrived', () => lines().length >= 3);
  expect(lines()).toMatchObject([
    { outcome: 'created', receiptNo: 'GR-000001', duplicate: false, reference: 'evt-1', warehouse: 'north' },
    { outcome: 'created', receiptNo: 'GR-000002', duplicate: true, reference: 'evt-1' },
    { outcome: 'error', reference: 'evt-2' },
  ]);
});

test('a mistake in the environment is one log entry, not a stack trace', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN], {
    encoding: 'utf8',
    env: { ...process.env, PORT: '0', LOG_LEVEL: 'loud' },
  });
  expect(status).toBe(1);
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({
    service: 'erp-simulator',
    msg: expect.stringContaining('LOG_LEVEL'),
  });
});

test('a cancelled receipt is gone from list, look-up and count, also after a restart, and its number stays taken', async () => {
  const before = await start({ dataFile });
  for (const reference of ['evt-1', 'evt-2', 'evt-2']) await before.post(reference);
  expect(await before.request('DELETE', '/api/receipts/GR-000002')).toMatchObject({ status: 204 });
  expect(await before.request('DELETE', '/api/receipts/GR-000002')).toMatchObject({ status: 404 });
  await before.simulator.close();

  const erp = await start({ dataFile });
  expect(await erp.stats()).toEqual({ postings: 2, distinctReferences: 2, duplicates: 0 });
  const left = { receipts: [{ receipt_no: 'GR-000001' }, { receipt_no: 'GR-000003' }] };
  expect(await erp.request('GET', '/api/receipts')).toMatchObject({ body: left });
  // A page that begins at a gap still has its receipts.
  expect(await erp.request('GET', '/api/receipts?after=GR-000001&limit=1')).toMatchObject({
    body: { receipts: [{ receipt_no: 'GR-000003' }] },
  });
  const found = await erp.request('GET', '/api/receipts?external_reference=evt-2');
  expect(found).toMatchObject({ body: { receipts: [{ receipt_no: 'GR-000003' }] } });
  expect(await erp.post('evt-3')).toMatchObject({ body: { receipt_no: 'GR-000004' } });
});
