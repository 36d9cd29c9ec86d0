import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis } from '@breakwater/local-stack/redis';
import { ensureRedisServer } from '@breakwater/local-stack/redis-binary';
import { startSoak } from '../test/support/soak.ts';

const EVENTS = Number(process.env['EVENTS'] ?? 20_000);
const WAVES = 4;
const RETENTION_MS = 2_000;
const PORT = 16_391;

// Waves of events over a retention of seconds: after each, Redis must be as small as after the one before.
const dir = mkdtempSync(join(tmpdir(), 'breakwater-soak-'));
const redis = await startRedis({
  binary: ensureRedisServer(process, (line) => console.error(line)),
  port: PORT,
  dir,
  overrides: { maxmemory: '4gb', appendonly: 'no' },
});
const soak = await startSoak(redis.url, RETENTION_MS);
try {
  console.log(`${EVENTS} events in ${WAVES} waves, retention ${RETENTION_MS} ms; after each wave:\n`);
  console.log('  events      keys   data bytes   used_memory   seconds');
  for (let wave = 1; wave <= WAVES; wave += 1) {
    const started = performance.now();
    const { keys, dataBytes, usedBytes } = await soak.wave(EVENTS / WAVES);
    const cells = [(EVENTS / WAVES) * wave, keys.length, dataBytes, usedBytes].map(String);
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    const [events = '', count = '', data = '', used = ''] = cells;
    console.log(
      `${events.padStart(8)}  ${count.padStart(8)}  ${data.padStart(11)}  ${used.padStart(12)}  ${seconds.padStart(8)}`,
    );
  }
} finally {
  await soak.close();
  await redis.stop();
  rmSync(dir, { recursive: true, force: true });
}
