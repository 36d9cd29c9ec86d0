import { readDeliveries } from '@breakwater/store/deliveries';
import { figures, quantile, sendPaced, startFleet, startReceiver, until } from './fleet.ts';

// How long after its due time a retry starts, on a system that has nothing else to do: the record itself keeps it.
const COUNT = Number(process.env['COUNT'] ?? 500);
const fleet = await startFleet({ dispatchers: 2, schedule: '0s,3s' });
try {
  await fleet.startDispatchers();
  const receiver = await startReceiver(
    fleet,
    (response, attempt) => void response.writeHead(attempt === 1 ? 500 : 200).end(),
  );
  await fleet.endpoint(receiver.url, 'bench.late');
  await sendPaced(fleet, receiver, { type: 'bench.late', run: 'late', count: COUNT, perSecond: 25 });
  await until(async () => (await fleet.status('sent')) === COUNT, 'the retries');
  const ids = await fleet.redis.zrange(fleet.keys.byStatus('default', 'sent'), 0, '-1');
  const late = (await readDeliveries(fleet.redis, fleet.keys, ids.map(String))).map(
    ({ attempts }) => attempts[1]?.lateMs ?? Number.NaN,
  );
  console.log(
    `${late.length} retries, due 3 s after a failure, 25 a second; begun after their time: ${figures(late)}`,
  );
  console.log(`p99 ${quantile(late, 0.99)} ms (wanted: below 250 ms)`);
} finally {
  await fleet.stop();
}
