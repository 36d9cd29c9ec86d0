import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, test } from '@jest/globals';
import { Inbox } from '../src/inbox.ts';
import { ACCEPTED, DUPLICATE, events, send, start, startProcess, temporaryInbox, until } from './support.ts';

const committedIn = async (inboxFile: string): Promise<string[]> => {
  const lines = (await readFile(inboxFile, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { id: string }).id);
};

test('deliveries of one id at the same moment commit it once, and all of them are answered 2xx', async () => {
  const inboxFile = await temporaryInbox();
  const { port } = await start({ inboxFile });
  const answers = await Promise.all(Array.from({ length: 50 }, () => send(port, 'evt-1')));
  expect(answers.filter(({ body }) => JSON.stringify(body) === JSON.stringify(ACCEPTED.body))).toHaveLength(
    1,
  );
  expect(answers.filter(({ body }) => JSON.stringify(body) === JSON.stringify(DUPLICATE.body))).toHaveLength(
    49,
  );
  expect(await committedIn(inboxFile)).toEqual(['evt-1']);
  expect(await events(port)).toEqual([{ id: 'evt-1', deliveries: 50 }]);
});

test('a duplicate is not answered before the first delivery is on disk', async () => {
  const inboxFile = await temporaryInbox();
  const inbox = await Inbox.open(inboxFile);
  const order: string[] = [];
  const deliver = async (): Promise<void> => {
    const outcome = await inbox.commit({ id: 'evt-1', body: '{}' });
    order.push(outcome, ...(await committedIn(inboxFile)));
  };
  const both = [deliver(), deliver()];
  expect(inbox.list()).toEqual([]); // nothing is committed yet
  await Promise.all(both);
  expect(order.toSorted()).toEqual(['committed', 'duplicate', 'evt-1', 'evt-1']);
  await inbox.close();
});

test('what was answered survives kill -9', async () => {
  const inboxFile = await temporaryInbox();
  const killed = await startProcess({ INBOX_FILE: inboxFile });
  const answered: string[] = [];
  const sending = Array.from({ length: 8 }, async (_, sender) => {
    for (let number = 1; ; number++) {
      const id = `evt-${sender}-${number}`;
      expect(await send(killed.port, id)).toEqual(ACCEPTED);
      answered.push(id);
      if (answered.length === 100) await killed.kill('SIGKILL');
    }
  });
  await Promise.allSettled(sending);
  expect(answered.length).toBeGreaterThanOrEqual(100);

  const { port } = await startProcess({ INBOX_FILE: inboxFile });
  for (const id of answered) expect(await send(port, id)).toEqual(DUPLICATE);
});

test('while the inbox cannot be written messages are answered 503 and not remembered', async () => {
  const inboxFile = await temporaryInbox();
  // The child may write 16 blocks of 512 bytes to a file: a real write that fails half-way.
  const limited = await startProcess({ INBOX_FILE: inboxFile }, 'ulimit -f 16; exec "$0" "$@"');
  expect(await send(limited.port, 'evt-1')).toEqual(ACCEPTED);
  const body = JSON.stringify('x'.repeat(20_000));
  const refused = await Promise.all([
    send(limited.port, 'evt-big', { body }),
    send(limited.port, 'evt-big', { body }),
    send(limited.port, 'evt-big', { body }),
  ]);
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503]);
  expect(await events(limited.port)).toEqual([{ id: 'evt-1', deliveries: 1 }]);
  expect(await send(limited.port, 'evt-big', { body })).toMatchObject({ status: 503 }); // no "duplicate"
  // There is room for these, the same id among them, and half of evt-big must not be in front of it.
  expect(await send(limited.port, 'evt-2')).toEqual(ACCEPTED);
  expect(await send(limited.port, 'evt-big', { body: '"small"' })).toEqual(ACCEPTED);
  await limited.kill('SIGKILL');

  const { port } = await start({ inboxFile });
  expect(await send(port, 'evt-1')).toEqual(DUPLICATE);
  expect(await send(port, 'evt-2')).toEqual(DUPLICATE);
  expect(await send(port, 'evt-big')).toEqual(DUPLICATE);
  expect((await committedIn(inboxFile)).filter(Boolean)).toEqual(['evt-1', 'evt-2', 'evt-big']);
});

test('what was answered 503 is accepted after a restart', async () => {
  const inboxFile = await temporaryInbox();
  const limited = await startProcess({ INBOX_FILE: inboxFile }, 'ulimit -f 16; exec "$0" "$@"');
  const body = JSON.stringify('x'.repeat(20_000));
  expect(await send(limited.port, 'evt-big', { body })).toMatchObject({ status: 503 });
  await limited.kill('SIGKILL');
  const { port } = await start({ inboxFile });
  expect(await send(port, 'evt-big', { body })).toEqual(ACCEPTED);
});

test('a torn last line is dropped, and its message accepted when it is sent again', async () => {
  const inboxFile = await temporaryInbox();
  const before = await start({ inboxFile });
  await send(before.port, 'evt-1');
  await before.close();
  await appendFile(inboxFile, '{"id":"evt-2","bo');

  const { port, close } = await start({ inboxFile });
  expect(await send(port, 'evt-1')).toEqual(DUPLICATE);
  expect(await send(port, 'evt-2')).toEqual(ACCEPTED);
  await close();
  expect(await committedIn(inboxFile)).toEqual(['evt-1', 'evt-2']);
});

test.each(['{"id":"evt-1","bo\n', '\0\0\0\n', '{"some":"other file"}\n'])(
  'an inbox that holds the line %j is not guessed at but refused',
  async (line) => {
    const inboxFile = await temporaryInbox();
    const content = `${line}{"id":"evt-2","body":"{}"}\n`;
    await writeFile(inboxFile, content);
    await expect(start({ inboxFile })).rejects.toThrow(`${inboxFile} is damaged in line 1`);
    expect(await readFile(inboxFile, 'utf8')).toBe(content); // left for a person to look at
  },
);

test('an inbox that cannot be opened stops the start', async () => {
  await expect(start({ inboxFile: dirname(await temporaryInbox()) })).rejects.toThrow('EISDIR');
});

test('the work begins after the commit and is not repeated by duplicates or a restart', async () => {
  const inboxFile = await temporaryInbox();
  const worked: string[] = [];
  const first = await start({ inboxFile, onEvent: ({ id, body }) => void worked.push(`${id} ${body}`) });
  await send(first.port, 'evt-1', { body: '{"amount":1.10}' });
  await send(first.port, 'evt-1', { body: '{"amount":1.10}' });
  await until('the work is noted as done', async () => (await readFile(inboxFile, 'utf8')).includes('done'));
  await first.close();
  const second = await start({ inboxFile, onEvent: ({ id }) => void worked.push(id) });
  await send(second.port, 'evt-1');
  await send(second.port, 'evt-2');
  await until('evt-2 is worked on', () => worked.length > 1);
  expect(worked).toEqual(['evt-1 {"amount":1.10}', 'evt-2']);
});

test('work that was not done when the process died is begun again at the next start', async () => {
  const inboxFile = await temporaryInbox();
  const stuck = Promise.withResolvers<void>();
  const first = await start({ inboxFile, onEvent: () => stuck.promise });
  expect(await send(first.port, 'evt-1')).toEqual(ACCEPTED); // answered although the work hangs
  expect(await send(first.port, 'evt-2')).toEqual(ACCEPTED);
  stuck.reject(new Error('stopped in the middle'));
  await first.close();
  const worked: string[] = [];
  await start({ inboxFile, onEvent: ({ id }) => void worked.push(id) });
  await until('both are worked on', () => worked.length === 2);
  expect(worked).toEqual(['evt-1', 'evt-2']);
});

test('work that fails is tried again and holds up no other message', async () => {
  const worked: string[] = [];
  const lines: string[] = [];
  const onEvent = ({ id }: { id: string }): void => {
    if (id === 'evt-1' && lines.length === 0) throw new Error('the ERP is closed');
    worked.push(id);
  };
  const { port } = await start({
    inboxFile: await temporaryInbox(),
    onEvent,
    log: (line) => lines.push(line),
  });
  await send(port, 'evt-1');
  await send(port, 'evt-2');
  await until('both are worked on', () => worked.length === 2);
  expect(worked).toEqual(['evt-2', 'evt-1']);
  expect(lines).toEqual([expect.stringContaining('evt-1 failed')]);
});
