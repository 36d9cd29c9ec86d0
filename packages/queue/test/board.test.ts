import { QUEUES } from '@breakwater/contracts/jobs';
import { expect, test } from '@jest/globals';
import { createQueueBoard } from '../src/board.ts';
import { afterwards, connect, freshKeys, silent } from './support/queue.ts';

/** What `hideRedisDetails` hides is also refused. */
const REDIS_DETAILS = '/api/redis/stats';

test('the board of queues that nobody has used yet shows them, and leaves no key behind', async () => {
  const [redis, keys] = [connect('scripts'), freshKeys()];
  const board = createQueueBoard(redis, keys, silent);
  afterwards(() => board.close());
  expect(board.reads.length).toBeGreaterThan(5);
  for (const queueName of Object.values(QUEUES))
    for (const { path, answer } of board.reads) {
      const { status } = await answer({
        params: { queueName, jobId: 'none' },
        query: { activeQueue: queueName },
      });
      const expected = path.includes(':jobId') ? [200, 404] : [path === REDIS_DETAILS ? 403 : 200];
      expect({ path, status: expected.includes(status) ? 'as expected' : status }).toEqual({
        path,
        status: 'as expected',
      });
    }
  expect(await redis.keys(`${keys.prefix}*`)).toEqual([]);
});

test('what its page is told holds no mark-up, and its files are named', () => {
  const board = createQueueBoard(connect('scripts'), freshKeys(), silent);
  afterwards(() => board.close());
  expect(board.config).not.toContain('<');
  expect(JSON.parse(board.config)).toMatchObject({ boardTitle: 'Queues' });
  expect(board.scripts.length).toBeGreaterThan(0);
  expect(board.styles.length).toBeGreaterThan(0);
});
