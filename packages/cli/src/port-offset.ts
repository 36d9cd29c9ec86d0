/**
 * `PORT_OFFSET=100 npm start` adds 100 to every port of the demonstration; with the same variable the CLI finds it.
 * What is set by itself stays as it is.
 */
export function withPortOffset(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const offset = Number(env['PORT_OFFSET'] ?? 0);
  if (!Number.isSafeInteger(offset) || offset <= 0) return env;
  return {
    ...env,
    REDIS_URL: env['REDIS_URL'] ?? `redis://127.0.0.1:${6_390 + offset}`,
    INGEST_URL: env['INGEST_URL'] ?? `http://127.0.0.1:${8_080 + offset}`,
    ERP_SIMULATOR_URL: env['ERP_SIMULATOR_URL'] ?? `http://127.0.0.1:${8_090 + offset}`,
  };
}
