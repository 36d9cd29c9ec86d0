import { lookup as systemLookup } from 'node:dns';
import * as http from 'node:http';
import * as https from 'node:https';
import { type LookupFunction, type Socket, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AddressPolicy } from './address-policy.ts';
import type { Phase } from './phase.ts';

/** The code of the error that a refused address surfaces with. */
export const ADDRESS_BLOCKED = 'ERR_ADDRESS_BLOCKED';

/** Node sends `keep-alive: timeout=5` and many servers close at 5 s; below it, few idle sockets die under our hands. */
const IDLE_TIMEOUT_MS = 4_000;

/** Idle sockets kept per host: enough to absorb a burst, few enough that a thousand endpoints do not hoard descriptors. */
const MAX_FREE_SOCKETS = 8;

export interface AgentPair {
  readonly http: http.Agent;
  readonly https: https.Agent;
  /** Why nothing may be written to this connected socket: its peer's address is refused. */
  readonly refusalOf: (socket: Socket) => Error | undefined;
}

export interface Agents {
  /** Keep-alive: a request may meet a socket that the peer has just closed. */
  readonly pooled: AgentPair;
  /** One connection per request, so that a reset is never an accident of reuse. */
  readonly fresh: AgentPair;
}

/** Request options of our own that reach createConnection. */
export interface HeldOptions {
  /** Gives up a connection that is still being made. Not node's `signal`, which would stay with a pooled socket. */
  readonly abandon?: AbortSignal;
  /** Told when a new connection enters a phase. */
  readonly onPhase?: (phase: Exclude<Phase, 'written'>) => void;
}

export interface AgentsOptions {
  /** Which addresses may be connected to; without it, all. */
  readonly policy?: AddressPolicy;
  /** Resolves names; dns.lookup by default. */
  readonly lookup?: LookupFunction;
  readonly idleTimeoutMs?: number;
}

type Connected = (error: Error | null, socket?: Duplex) => void;
type ConnectOptions = http.ClientRequestArgs & HeldOptions;

/**
 * Agents that hand a socket to its request only once it is connected (TLS included) and checked. node:http writes what
 * it has queued in the same turn in which a request gets its socket, so that turn is the last moment to say no, and
 * everything before it is surely unsent.
 *
 * The number of sockets is capped by the client (see slots.ts), not here: a request that waits in an agent's own queue
 * may get a used socket without being marked as reusing one.
 */
export function createAgents(options: AgentsOptions): Agents {
  const keepAlive = {
    keepAlive: true,
    maxFreeSockets: MAX_FREE_SOCKETS,
    timeout: options.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
  };
  const { policy } = options;
  const refusalOf = ({ remoteAddress = '' }: Socket): Error | undefined =>
    policy && remoteAddress !== '' && !policy(remoteAddress)
      ? blockedAddress('the address that was connected to is private or reserved')
      : undefined;
  const pair = (own: http.AgentOptions): AgentPair => ({
    http: new HeldHttpAgent(own, options),
    https: new HeldHttpsAgent(own, options),
    refusalOf,
  });
  return { pooled: pair(keepAlive), fresh: pair({}) };
}

export function destroyAgents(agents: Agents): void {
  for (const agent of [agents.pooled.http, agents.pooled.https, agents.fresh.http, agents.fresh.https])
    agent.destroy();
}

class HeldHttpAgent extends http.Agent {
  readonly #limits: AgentsOptions;

  constructor(options: http.AgentOptions, limits: AgentsOptions) {
    super(options);
    this.#limits = limits;
  }

  override createConnection(options: ConnectOptions, connected: Connected): undefined {
    hold('connect', options, this.#limits, connected, (checked) => super.createConnection(checked));
  }
}

class HeldHttpsAgent extends https.Agent {
  readonly #limits: AgentsOptions;

  constructor(options: https.AgentOptions, limits: AgentsOptions) {
    super(options);
    this.#limits = limits;
  }

  override createConnection(options: ConnectOptions, connected: Connected): undefined {
    hold('secureConnect', options, this.#limits, connected, (checked) => super.createConnection(checked));
  }
}

function hold(
  ready: 'connect' | 'secureConnect',
  options: ConnectOptions,
  limits: AgentsOptions,
  connected: Connected,
  connect: (checked: ConnectOptions) => Duplex | null | undefined,
): void {
  const { policy } = limits;
  const host = (options.host ?? '').replaceAll(/^\[|\]$/g, '');
  if (policy && isIP(host) !== 0 && !policy(host)) {
    connected(blockedAddress(`${host} is private or reserved`));
    return;
  }
  if (options.abandon?.aborted === true) {
    connected(errorWithCode('ECONNABORTED', 'the connection was given up'));
    return;
  }
  const lookup = policy ? guardedLookup(policy, limits.lookup) : limits.lookup;
  options.onPhase?.(isIP(host) === 0 ? 'resolving' : 'connecting');
  const socket = connect(lookup ? { ...options, lookup } : options);
  if (!socket) {
    connected(new Error('no socket was made'));
    return;
  }
  const settle = (error?: Error): void => {
    socket.off(ready, onReady).off('error', settle).off('close', onClose);
    options.abandon?.removeEventListener('abort', onAbandon);
    if (!error) {
      connected(null, socket);
      return;
    }
    socket.on('error', () => {}); // a destroyed socket may fail once more, with nobody left to care
    socket.destroy();
    connected(error);
  };
  const onReady = (): void => settle();
  const onClose = (): void =>
    settle(errorWithCode('ECONNRESET', 'the connection was closed while it was being made'));
  const onAbandon = (): void => settle(errorWithCode('ECONNABORTED', 'the connection was given up'));
  socket.once('lookup', (error: unknown) => {
    if (!error) options.onPhase?.('connecting');
  });
  if (ready === 'secureConnect') socket.once('connect', () => options.onPhase?.('securing'));
  socket.once(ready, onReady).once('error', settle).once('close', onClose);
  options.abandon?.addEventListener('abort', onAbandon, { once: true });
}

/**
 * Refuses a name when any of its addresses is refused: which one gets connected to is decided later, and a name that
 * mixes public and private addresses is how rebinding looks. The message names no address, since a tenant must not
 * learn what internal names resolve to.
 */
function guardedLookup(policy: AddressPolicy, lookup: LookupFunction | undefined): LookupFunction {
  return (hostname, options, callback) => {
    const check: Parameters<LookupFunction>[2] = (error, found, family) => {
      const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address);
      if (error || addresses.every((address) => policy(address))) callback(error, found, family);
      else callback(blockedAddress(`${hostname} resolves to an address that is private or reserved`), '', 0);
    };
    if (lookup) lookup(hostname, options, check);
    else systemLookup(hostname, options, check);
  };
}

function blockedAddress(message: string): NodeJS.ErrnoException {
  return errorWithCode(ADDRESS_BLOCKED, `${message}, and egress.allow does not cover it`);
}

function errorWithCode(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}
