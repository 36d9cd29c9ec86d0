import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { withServer } from './support/servers.ts';

test('a proxy that the environment names is not used: it would connect where the guard forbids it', async () => {
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('proxy');
  });
  const receiver = createServer((_request, response) => response.end('receiver'));
  await withServer(proxy, async (proxyPort) =>
    withServer(receiver, async (port) => {
      const at = `http://127.0.0.1:${proxyPort}`;
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [join(import.meta.dirname, 'support/proxy-child.ts'), `http://127.0.0.1:${port}/`],
        { env: { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: at, http_proxy: at, HTTPS_PROXY: at, ALL_PROXY: at } },
      );
      expect(stdout).toBe('receiver');
      expect(asked).toEqual([`http://127.0.0.1:${port}/by-node`]);
    }),
  );
}, 30_000);
