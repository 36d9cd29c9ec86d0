import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { call, codeOf, type Rig, sign, SIGNATURE, sourceWith, startIngest } from './support.ts';

const BODY = '{"id":"evt_1"}';

let rig: Rig;
beforeAll(async () => {
  rig = await startIngest({ demo: sourceWith() });
});
afterAll(() => rig.close());

describe('a path', () => {
  test.each([
    '/',
    '/webhooks',
    '/webhooks/',
    '/webhooks/demo/more',
    '/webhooks/demo%2fmore',
    '/webhooks/%2e%2e%2fdemo',
    '/webhooks/../demo',
    '/webhooks/%2e%2e',
    '/webhooks/.%2e/webhooks/demo',
    '/webhooks/demo%00',
    '/webhooks/Demo',
    '/Webhooks/demo',
    '//webhooks/demo',
    '/webhooks//demo',
    '/webhooks/__proto__',
    '/webhooks/constructor',
    '/webhooks/toString',
    '/webhooks/hasOwnProperty',
    '/v1/nothing',
  ])('%s leads nowhere, not even with a valid signature', async (path) => {
    const answer = await call(rig.port, { path, body: BODY, headers: { [SIGNATURE]: sign(BODY) } });
    expect([answer.status, codeOf(answer)]).toEqual([
      404,
      expect.stringMatching(/^(?:not_found|source_unknown)$/),
    ]);
  });

  test.each(['/webhooks/%', '/webhooks/%zz', '/webhooks/%ff', '/webhooks/%c0%ae'])(
    '%s is answered without a stack',
    async (path) => {
      const answer = await call(rig.port, { path, body: BODY });
      expect([answer.status, codeOf(answer)]).toEqual([400, 'request_invalid']);
      expect(answer.text).not.toMatch(/at .*:\d+|Error/);
    },
  );

  test.each([
    '/webhooks/demo?__proto__[x]=1&a=b',
    '/webhooks/demo?',
    '/webhooks/demo/',
    '/webhooks/demo/?a=b',
    '/webhooks/%64emo',
    'http://elsewhere/webhooks/demo',
  ])('leads to its source however it is spelt: %s', async (path) => {
    const headers = { [SIGNATURE]: sign(BODY) };
    expect((await call(rig.port, { path, body: BODY, headers })).status).toBe(200);
    const unsigned = await call(rig.port, { path, body: BODY });
    expect([unsigned.status, codeOf(unsigned)]).toEqual([401, 'signature_missing']);
    expect((await call(rig.port, { path, method: 'PUT', body: BODY })).headers.allow).toBe('POST');
  });
});
