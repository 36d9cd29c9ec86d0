import { ErpTarget } from '@breakwater/contracts/target-config';
import { expect, test } from '@jest/globals';
import { checkTiming } from '../src/timing.ts';
import { openFleet } from './support.ts';

const target = (post: string, find?: string): ErpTarget =>
  ErpTarget.parse({
    owner: 'o',
    document: '{}',
    adapter: {
      kind: 'http',
      baseUrl: 'http://erp.test',
      post: { path: '"/"', timeout: post },
      ...(find && { find: { path: '"/"', hits: 'answer', timeout: find } }),
    },
  });

test('the default times fit, and so does what is exactly long enough', () => {
  expect(() => checkTiming({ a: target('30s', '10s') }, 75_000)).not.toThrow();
  expect(() => checkTiming({ a: target('50s', '10s') }, 75_000)).not.toThrow();
});

test('a stop that comes before the ERP has answered is refused, with a sentence for every target that says why', () => {
  expect(() => checkTiming({ a: target('51s', '10s'), b: target('1s'), c: target('2m') }, 75_000)).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      message: expect.stringMatching(
        /^erpTargets\.a: an attempt may take 1m 11s, but .* stop ends after 1m 15s.*at least 76000.*\nerpTargets\.c: .*at least 125000.*$/,
      ),
    }),
  );
});

test('a consumer whose times do not fit refuses to start', async () => {
  const post = { path: '"/"', timeout: '5m' };
  await using fleet = await openFleet({ adapter: { kind: 'http', baseUrl: 'http://127.0.0.1:9', post } });
  await expect(fleet.replica()).rejects.toMatchObject({ code: 'config_invalid' });
});
