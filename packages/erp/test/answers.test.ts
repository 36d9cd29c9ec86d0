import { HttpAdapter } from '@breakwater/contracts/target-config';
import { expect, test } from '@jest/globals';
import { type Answers, contradictions, meaningOf } from '../src/answers.ts';

const answersOf = (answers: object): Answers =>
  HttpAdapter.parse({ kind: 'http', baseUrl: 'http://127.0.0.1', post: { path: '"/"', answers } }).post
    .answers;

test.each([401, 403, 404, 408, 425, 429])(
  '%i means not applied, even where its class is listed',
  (status) => {
    expect(meaningOf(status, answersOf({}))).toBe('failed');
    expect(meaningOf(status, answersOf({ rejected: ['4xx'] }))).toBe('failed');
  },
);

test('a configured number stands above everything', () => {
  expect(meaningOf(404, answersOf({ rejected: [404] }))).toBe('rejected');
  expect(meaningOf(200, answersOf({ duplicate: [200] }))).toBe('duplicate');
  expect(meaningOf(201, answersOf({ duplicate: [200] }))).toBe('posted');
  expect(meaningOf(409, answersOf({ duplicate: [409], rejected: ['4xx'] }))).toBe('duplicate');
  expect(meaningOf(400, answersOf({ duplicate: [409], rejected: ['4xx'] }))).toBe('rejected');
});

test.each([100, 199, 200, 202, 204, 301, 302, 304, 400, 402, 409, 410, 422, 451, 500, 502, 503, 504, 599])(
  '%i that nobody described does not pass for "not applied"',
  (status) => {
    expect(meaningOf(status, answersOf({ posted: [201] }))).toBe('unknown');
  },
);

test('5xx is not applied only where the configuration says so', () => {
  expect(meaningOf(500, answersOf({}))).toBe('unknown');
  expect(meaningOf(503, answersOf({ failed: [503] }))).toBe('failed');
  expect(meaningOf(500, answersOf({ failed: ['5xx'] }))).toBe('failed');
});

test('every 2xx means posted by default', () => {
  expect([200, 201, 202, 204].map((status) => meaningOf(status, answersOf({})))).toEqual(
    Array(4).fill('posted'),
  );
});

test('a status in two lists is a contradiction', () => {
  expect(contradictions(answersOf({ posted: [201, 201], duplicate: [409], rejected: [409, '4xx'] }))).toEqual(
    ['409 is in duplicate and rejected: keep one'],
  );
  expect(
    contradictions(answersOf({ posted: ['2xx'], duplicate: [200], rejected: ['4xx'], failed: [423] })),
  ).toEqual([]);
});
