import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FAILURE_CLASSES, type FailureClass, blameFor, remedyFor } from '@breakwater/contracts/failure-class';
import { failureClassOfStatus } from '../src/classify.ts';
import type { HttpOutcome } from '../src/outcome.ts';
import type { Peer } from './support/peers.ts';
import { ANSWER_PEERS } from './support/peers-answer.ts';
import { CONNECTION_PEERS } from './support/peers-connection.ts';
import { NAME_PEERS, tlsPeers } from './support/peers-name.ts';
import { type Certificate, expired, selfSigned, withClient } from './support/servers.ts';

const authorities = getCACertificates('default');
let certificates: Readonly<Record<'valid' | 'old' | 'stranger', Certificate>>;
beforeAll(async () => {
  const [valid, old, stranger] = await Promise.all([
    selfSigned('receiver.example'),
    expired('old.example'),
    selfSigned('receiver.example'),
  ]);
  certificates = { valid, old, stranger };
  setDefaultCACertificates([...authorities, valid.cert, old.cert]);
});
afterAll(() => setDefaultCACertificates(authorities));

const PEERS: readonly Peer[] = [
  ...NAME_PEERS,
  ...CONNECTION_PEERS,
  ...tlsPeers(() => certificates),
  ...ANSWER_PEERS,
];

function verdictOf(outcome: HttpOutcome): string {
  if (outcome.kind !== 'response') return outcome.kind === 'failure' ? outcome.class : outcome.kind;
  return outcome.status >= 200 && outcome.status <= 299 ? 'sent' : failureClassOfStatus(outcome.status);
}

test.each(PEERS.map((peer) => [peer.what, peer.outcome, peer] as const))(
  'a peer that: %s is %s',
  async (_what, outcome, { meet, sent }) => {
    let seen: HttpOutcome | undefined;
    await withClient(async (plain) =>
      meet(async (request, client = plain) => {
        seen = await client.request(request);
      }),
    );
    expect(seen && verdictOf(seen)).toBe(outcome);
    expect(seen).toMatchObject(sent ? { kind: 'failure', sent } : {});
  },
);

/** Those that only an ERP target has, and one that is decided before anything is requested. */
const NOT_OF_HTTP = /^(?:erp_|mapping$|lookup_failed$|not_found$|configuration$)/;

test('every class that HTTP can have has a peer that shows it', () => {
  const shown = new Set(PEERS.map(({ outcome }) => outcome as string));
  expect(Object.keys(FAILURE_CLASSES).filter((name) => !NOT_OF_HTTP.test(name) && !shown.has(name))).toEqual(
    [],
  );
});

const cellsOf = (line: string): string => line.replaceAll(/\s+\|/g, ' |').replaceAll(/\|\s+/g, '| ');
const page = readFileSync(join(import.meta.dirname, '../../../docs/outcomes.md'), 'utf8');
const rowsOfPage = page
  .slice(page.indexOf('## The classes'))
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (?:class |the destination |-)/.test(line))
  .map(cellsOf);

test('docs/outcomes.md says of every class and of every peer what the code says', () => {
  const classes = (Object.keys(FAILURE_CLASSES) as FailureClass[]).map(
    (name) => `| \`${name}\` | ${blameFor(name)} | ${remedyFor(name)} |`,
  );
  const peers = PEERS.map(({ what, outcome }) => `| ${what} | \`${outcome}\` |`);
  expect(rowsOfPage).toEqual([...classes, ...peers]);
});
