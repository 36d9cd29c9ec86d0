import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Source } from '@breakwater/contracts/source-config';
import { parseConfig } from '@breakwater/runtime/config';
import { createVerifier } from '../src/verify.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/sources.md'), 'utf8');
const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map((match) => match[1] ?? '');

const publicKey = (type: 'ed25519' | 'p256' | 'rsa') =>
  type === 'ed25519'
    ? generateKeyPairSync('ed25519').publicKey
    : type === 'p256'
      ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey
      : generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey;
const der = (type: 'ed25519' | 'p256'): Buffer => publicKey(type).export({ type: 'spki', format: 'der' });

/** By the end of the name, a secret of the kind that an example needs. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/_ED25519$/, der('ed25519').subarray(-32).toString('base64')],
  [/_P256$/, der('p256').toString('base64')],
  [/_RSA_PEM$/, String(publicKey('rsa').export({ type: 'spki', format: 'pem' }))],
  [/_HEX$/, 'ab'.repeat(32)],
  [/_BASE64$/, Buffer.alloc(32, 7).toString('base64')],
];
const env = Object.fromEntries(
  [...page.matchAll(/\$\{([A-Z0-9_]+)\}/g)].map(([, name = '']) => [
    name,
    KINDS.find(([end]) => end.test(name))?.[1] ?? 'a secret for the example',
  ]),
);

test.each(examples.map((example, index) => [`${index + 1}, ${/^ {2}(\w+):/m.exec(example)?.[1]},`, example]))(
  'the example %s of docs/sources.md is a configuration whose requests can be verified',
  (_, example) => {
    const { sources } = parseConfig(example, env);
    expect(Object.keys(sources).length).toBeGreaterThan(0);
    for (const source of Object.values(sources)) createVerifier(source);
  },
);

const schema = Source.toJSONSchema({ io: 'input', unrepresentable: 'any' });

/** Names of every setting of a source, and where `values` the texts that settings may have. */
function wordsOf(part: unknown, values: boolean, words = new Set<string>()): Set<string> {
  if (typeof part !== 'object' || part === null) return words;
  for (const [key, inner] of Object.entries(part) as [string, unknown][]) {
    if (key === 'properties') for (const name of Object.keys(inner ?? {})) words.add(name);
    if (values && key === 'const' && typeof inner === 'string') words.add(inner);
    if (values && key === 'enum' && Array.isArray(inner)) for (const value of inner) words.add(String(value));
    wordsOf(inner, values, words);
  }
  return words;
}

/** `text` without what a longer word holds. */
const missingIn = (text: string, words: ReadonlySet<string>): string[] => {
  const known = new Set(text.split(/[^\w-]+/));
  return [...words].filter((word) => /\w/.test(word) && !known.has(word));
};

test('docs/sources.md names every setting of a source, and every value that one may have', () => {
  const words = wordsOf(schema, true);
  expect(words.size).toBeGreaterThan(120);
  const presets = readFileSync(join(import.meta.dirname, '../../../docs/providers/README.md'), 'utf8');
  expect(missingIn(page + presets, words)).toEqual([]);
});

test('every setting is in an example, where somebody can copy it', () => {
  expect(missingIn(examples.join('\n'), wordsOf(schema, false))).toEqual([]);
});
