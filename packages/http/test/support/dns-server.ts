import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** What a question gets: addresses (none: NODATA), an error by its code of RFC 1035 and a delay, or silence. */
export interface DnsAnswer {
  readonly addresses?: readonly string[];
  readonly rcode?: 0 | 2 | 3 | 5;
  readonly delayMs?: number;
}
export const SERVFAIL = { rcode: 2 } as const;
export const NXDOMAIN = { rcode: 3 } as const;
export const REFUSED = { rcode: 5 } as const;

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };
const HEADER_BYTES = 12;

export type AnswerDns = (name: string, type: 'A' | 'AAAA') => DnsAnswer | 'silence';

export interface DnsServer {
  /** `ip:port`. */
  readonly address: string;
  readonly close: () => Promise<void>;
}

/** A name server that answers so, over UDP, one question a packet. IPv4 addresses for A only. */
export async function startDnsServer(answer: AnswerDns): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const timers = new Set<NodeJS.Timeout>();
  socket.on('message', (question, { port, address }) => {
    const { name, type, end } = questionOf(question);
    const said = type ? answer(name, type) : {};
    if (said === 'silence') return;
    const reply = replyTo(question.subarray(0, end), said, type);
    timers.add(setTimeout(() => socket.send(reply, port, address), said.delayMs ?? 0));
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    close: async () => {
      for (const timer of timers) clearTimeout(timer);
      socket.close();
      await once(socket, 'close');
    },
  };
}

/** Runs `use` with the address of a name server that answers so. */
export async function withDnsServer(
  answer: AnswerDns,
  use: (address: string) => Promise<void>,
): Promise<void> {
  const server = await startDnsServer(answer);
  try {
    await use(server.address);
  } finally {
    await server.close();
  }
}

function questionOf(packet: Buffer): { name: string; type: 'A' | 'AAAA' | undefined; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = packet[at] ?? 0; length > 0; length = packet[at] ?? 0) {
    labels.push(packet.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  // Lower case, since a resolver may mix cases to make its questions hard to guess.
  return { name: labels.join('.').toLowerCase(), type: TYPES[packet.readUInt16BE(at + 1)], end: at + 5 };
}

function replyTo(
  question: Buffer,
  { addresses = [], rcode = 0 }: DnsAnswer,
  type: 'A' | 'AAAA' | undefined,
): Buffer {
  const records = (type === 'A' ? addresses : []).map((address) => {
    const record = Buffer.alloc(16);
    record.writeUInt16BE(0xc0_00 + HEADER_BYTES, 0); // the name of the question
    record.writeUInt16BE(1, 2); // A
    record.writeUInt16BE(1, 4); // IN, and a TTL of 0
    record.writeUInt16BE(4, 10);
    record.set(address.split('.').map(Number), 12);
    return record;
  });
  const reply = Buffer.concat([question, ...records]);
  reply.writeUInt16BE(0x81_80 + rcode, 2); // an answer, recursion wanted and available
  reply.writeUInt16BE(records.length, 6);
  reply.writeUInt32BE(0, 8);
  return reply;
}
