import { isIP } from 'node:net';
import { z } from 'zod';
import { checkAcross } from './config-checks.ts';
import { duration, retryWait } from './duration.ts';
import { maskPatternMistake } from './linear-pattern.ts';
import { PublishTokens } from './publish-tokens.ts';
import { Source } from './source-config.ts';
import { dedupeTtl } from './source-dedupe.ts';
import { ErpTarget, Route } from './target-config.ts';

/** Names of sources and targets become URL segments, metric labels and parts of Redis keys. */
const NAME = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/;
const name = z.string().regex(NAME, 'expected lower-case letters, digits, - and _, at most 63');

/** The fixed schedule: each entry is the wait before one attempt, the first one immediately. */
export const DEFAULT_SCHEDULE_MS: readonly number[] = [0, 60_000, 300_000, 900_000, 3_600_000, 21_600_000];

const Delivery = z.strictObject({
  retrySchedule: z
    .array(retryWait)
    .min(1)
    .max(50)
    .default([...DEFAULT_SCHEDULE_MS]),
  /** Upper end of an additive jitter: a retry is never early. The schedule is fixed by default. */
  jitter: duration.default(0),
  timeout: duration.default(5_000).refine((ms) => ms >= 1_000 && ms <= 30_000, 'expected 1s to 30s'),
  maxInFlight: z.int().min(1).max(1_000).default(10),
  /**
   * Attempts at once, in the whole fleet, at endpoints of deliveries that were tried before. Less than half of one
   * dispatcher's 500, so that however slow their endpoints are, first attempts find a worker.
   */
  retriesInFlight: z.int().min(1).max(100_000).default(200),
  autoPause: z
    .strictObject({
      /** An endpoint that failed so long without one success is paused; its deliveries are held. 0: never. */
      after: duration.default(5 * 86_400_000),
      /** How often one held delivery asks whether it works again. */
      probeEvery: duration.refine((ms) => ms >= 1_000, 'expected at least 1s').default(3_600_000),
      /** What was held so long becomes a dead letter, also where a person paused. */
      heldFor: duration.refine((ms) => ms >= 1_000, 'expected at least 1s').default(30 * 86_400_000),
    })
    .prefault({}),
});

const cidr = z.union([z.cidrv4(), z.cidrv6()]);
const nameServer = z
  .string()
  .refine(
    isNameServer,
    'expected an IP address, with a port if it is not 53: 10.0.0.53, 10.0.0.53:5353, [fd00::53]:53',
  );

const Egress = z.strictObject({
  /** Endpoints are https unless this is true. */
  allowHttp: z.boolean().default(false),
  /**
   * Private ranges that endpoints may be in, CIDR. Everything private is refused otherwise. A cloud's metadata address
   * is allowed only by an entry of its own (/32, /128).
   */
  allow: z.array(cidr).default([]),
  /** Ranges that endpoints may not be in, CIDR, on top of everything private; they win over `allow`. */
  deny: z.array(cidr).default([]),
  /**
   * Name servers that endpoints' names are asked of, `ip` or `ip:port`, instead of as the machine finds them: no hosts file,
   * no search domains.
   */
  resolvers: z.array(nameServer).default([]),
});

function isNameServer(text: string): boolean {
  const [, six, four, port] = /^(?:\[([^\]]*)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return false;
  return isIP(text) !== 0 || (six !== undefined ? isIP(six) === 6 : isIP(four ?? '') === 4);
}

const Samples = z.strictObject({
  /**
   * What is masked in samples of answers besides well-known secrets, as patterns in RE2's syntax (linear in time). Where
   * a pattern has a group, only the group is masked: `"iban":"([^"]*)`.
   */
  redact: z
    .array(
      z
        .string()
        .max(200) // with the sample's 2 KiB this bounds what a pattern can cost
        .superRefine((source, context) => {
          const mistake = maskPatternMistake(source);
          if (mistake !== undefined) context.addIssue({ code: 'custom', message: mistake });
        }),
    )
    .max(50)
    .default([]),
});

const Ingest = z.strictObject({
  /** Dedupe records live so long. The longest provider retry window known is 30 days. */
  dedupe: dedupeTtl.default(45 * 86_400_000),
  /** With more events than this waiting for fan-out, ingest answers 503. */
  maxWaitingEvents: z.int().min(1).default(100_000),
  /** Share of Redis' maxmemory above which ingest answers 503. */
  maxMemoryRatio: z.number().min(0.1).max(0.99).default(0.8),
  /** Ids of accepted events that a process remembers to answer duplicates without Redis. */
  rememberedIds: z.int().min(0).max(10_000_000).default(100_000),
  /** Replicas that must have the event before it is acknowledged (Redis WAIT); 0 with a single Redis. */
  waitReplicas: z.int().min(0).max(10).default(0),
});

const Reconciliation = z.strictObject({
  /** How often the console compares events with postings, by our records. 0: never. */
  every: duration.refine((ms) => ms === 0 || ms >= 1_000, 'expected at least 1s, or 0').default(300_000),
  /** How far back. What is older was looked at in time, or is asked for by the CLI. */
  window: duration.refine((ms) => ms >= 60_000, 'expected at least 1m').default(86_400_000),
  /** How often it also reads the ERP's own documents, which costs the ERP some requests. 0: never. */
  deepEvery: duration
    .refine((ms) => ms === 0 || ms >= 1_000, 'expected at least 1s, or 0')
    .default(3_600_000),
  /**
   * How long an open posting may be overdue, or in doubt, before it is told. Longer than the first three waits of the
   * schedule, in which an ERP that stumbled is looked up again: whoever is paged then should have something to do.
   */
  grace: duration.default(1_200_000),
  /** Single look-ups at the ERP, at most. */
  lookupsPerSecond: z.number().min(0.1).max(1_000).default(10),
});

export const BreakwaterConfig = z
  .strictObject({
    ingest: Ingest.prefault({}),
    reconciliation: Reconciliation.prefault({}),
    deliveries: Delivery.prefault({}),
    egress: Egress.prefault({}),
    /**
     * How long events and deliveries stay after every delivery has ended: so long they can be read and replayed. Below
     * ingest.dedupe, or a provider's late repetition would find neither record nor claim and be taken for a new event.
     */
    retention: duration.refine((ms) => ms >= 1_000, 'expected at least 1s').default(30 * 86_400_000),
    samples: Samples.prefault({}),
    /** Keys for secrets at rest, newest first: base64 of 32 bytes. */
    encryptionKeys: z
      .string()
      .transform((text) =>
        text
          .split(',')
          .map((key) => key.trim())
          .filter(Boolean),
      )
      .default([]),
    adminToken: z.string().optional(),
    /** The one token of a small deployment; its operator is `default`. */
    publishToken: z.string().optional(),
    /** Further ones, each of an operator. */
    publishTokens: PublishTokens,
    sources: z.record(name, Source).default({}),
    erpTargets: z.record(name, ErpTarget).default({}),
    routes: z.array(Route).default([]),
  })
  // Also when a part of the file is wrong in itself: all mistakes are told at once.
  .superRefine(checkAcross, { when: () => true });
export type BreakwaterConfig = z.infer<typeof BreakwaterConfig>;
