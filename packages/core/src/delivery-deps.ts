import { createAlarmClocks } from '@breakwater/queue/alarms';
import { createQueueMaintenance } from '@breakwater/queue/maintenance';
import type { ServiceContext } from '@breakwater/runtime/service';
import type { ServiceConfig } from '@breakwater/runtime/service-main';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { policyOf } from '@breakwater/store/policy';
import { Transitions } from '@breakwater/store/transitions';

/**
 * What dispatcher, erp-consumer and console share: a connection for scripts, the record's transitions, the alarm clocks
 * and the queues' maintenance. Each is closed before what it uses.
 */
export function openDeliveries(
  config: Pick<ServiceConfig, 'redisUrl' | 'keyPrefix' | 'breakwater'>,
  { defer, logger }: Pick<ServiceContext, 'defer' | 'logger'>,
) {
  const keys = createKeyspace(config.keyPrefix);
  const redis = connectRedis(config.redisUrl, 'scripts', logger);
  defer('redis', () => closeRedis(redis));
  const policy = policyOf(config.breakwater);
  const transitions = new Transitions(redis, keys, policy);
  const clocks = createAlarmClocks(redis, keys, logger);
  defer('alarm clocks', () => clocks.close());
  const maintenance = createQueueMaintenance(redis, keys, logger);
  defer('queue maintenance', () => maintenance.close());
  return { keys, redis, policy, transitions, clocks, maintenance, logger };
}
