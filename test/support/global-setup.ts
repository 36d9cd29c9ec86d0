import { type OwnRedis, startOwnRedis } from './redis.ts';

declare global {
  // Handed to the teardown, which runs in this same process.
  var sharedTestRedis: OwnRedis | undefined;
}

/** Starts the Redis that all suites share: durable, as ingest demands it, and gone after the run. Workers inherit the variable. */
export default async function setup(): Promise<void> {
  globalThis.sharedTestRedis = await startOwnRedis();
  process.env['TEST_REDIS_URL'] = globalThis.sharedTestRedis.url;
}
