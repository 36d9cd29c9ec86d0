import { expect, test } from '@jest/globals';
import type { Figures } from '../src/storm/figures.ts';
import { renderFigures } from '../src/storm/report.ts';

const figures: Figures = {
  run: '7f3c9a01',
  source: 'demo-payments',
  orders: 30,
  deliveries: 60,
  acknowledged: 60,
  accepted: 30,
  deduped: 30,
  postings: 30,
  distinctReferences: 30,
  duplicates: 0,
  sent: 30,
  deadLetters: [],
  endpoints: { sent: 0, deadLetters: 30 },
  retries: 0,
  ack: { p50Ms: 1, p99Ms: 2, maxMs: 3 },
  seconds: 9,
  exact: true,
  problems: [],
};

test('the dead letters of the ERP and those of endpoints cannot be mistaken for each other', () => {
  const lines = renderFigures(figures).split('\n');
  const counted = lines.filter((line) => line.includes('dead letters'));
  expect(counted).toEqual([
    expect.stringMatching(/^dead letters at the ERP +0/),
    expect.stringMatching(/^sent to endpoints +0 +and 30 dead letters: endpoints that want these events too/),
  ]);
});

test('without endpoints there is no line of theirs, and each dead letter of the ERP is named', () => {
  const text = renderFigures({
    ...figures,
    postings: 29,
    deadLetters: [{ delivery: 'k1.erp_receipts', reason: 'rejected' }],
    endpoints: { sent: 0, deadLetters: 0 },
  });
  expect(text).not.toContain('endpoints');
  expect(text).toMatch(/^ +dead letter +k1\.erp_receipts +rejected$/m);
  expect(text).toContain('29 postings, 0 duplicates, 1 dead letter names the rest.');
});
