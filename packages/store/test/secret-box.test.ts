import { expect, test } from '@jest/globals';
import { createSecretBox, isOutdated, keyOfSealed, sealedChars } from '../src/secret-box.ts';

const [OLD, NEW] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string];
const refusal = (open: () => string): { code?: string; message: string } => {
  try {
    open();
  } catch (error) {
    return error as Error & { code?: string };
  }
  throw new Error('it was opened');
};

test('the newest key seals, any opens, and the sealed text tells which one it needs', () => {
  const former = createSecretBox([OLD]);
  const sealed = former.seal('whsec_x', 'a');
  const both = createSecretBox([NEW, OLD]);
  expect(both.open(sealed, 'a')).toBe('whsec_x');
  expect(keyOfSealed(sealed)).toBe(former.newestKey);
  expect(keyOfSealed(both.seal('whsec_x', 'a'))).toBe(both.newestKey);
  expect(isOutdated(sealed, both.newestKey)).toBe(true);
  expect(isOutdated(sealed, former.newestKey)).toBe(false);
  expect(sealed).not.toContain('whsec_x');
  expect(sealedChars(sealed)).toBe('whsec_x'.length);
  expect(former.seal('whsec_x', 'a')).not.toBe(sealed); // a nonce of its own each time
});

test('a sealed text that was copied to another record does not open there', () => {
  const box = createSecretBox([NEW]);
  const sealed = box.seal('whsec_x', 'endpoint a/1 secret');
  for (const other of ['endpoint a/2 secret', 'endpoint b/1 secret', 'endpoint a/1 header x', ''])
    expect(refusal(() => box.open(sealed, other)).code).toBe('secret_unreadable');
});

test('a text that was changed anywhere does not open', () => {
  const box = createSecretBox([NEW]);
  const [version = '', key = '', data = ''] = box.seal('whsec_x', 'a').split('.');
  const bytes = Buffer.from(data, 'base64');
  for (const index of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[index]! ^= 1;
    const sealed = `${version}.${key}.${changed.toString('base64')}`;
    expect(refusal(() => box.open(sealed, 'a')).code).toBe('secret_unreadable');
  }
  for (const broken of ['', 'whsec_plain', `v2.${key}`, `v2.${key}.`, `v2.${key}.AAAA`, `v3.${key}.${data}`])
    expect(refusal(() => box.open(broken, 'a')).code).toBe('secret_unreadable');
  // The tag of a text that has an identity does not fit where none is asked for.
  expect(refusal(() => box.open(`v1.${key}.${data}`, 'a')).code).toBe('secret_unreadable');
});

test('a key that is missing is named, and nothing of the secret', () => {
  const sealed = createSecretBox([OLD]).seal('whsec_x', 'a');
  const { code, message } = refusal(() => createSecretBox([NEW]).open(sealed, 'a'));
  expect(code).toBe('encryption_keys_missing');
  expect(message).toContain(keyOfSealed(sealed));
  expect(message).not.toContain(sealed.split('.')[2]);
  expect(refusal(() => createSecretBox([]).seal('x', 'a')).code).toBe('encryption_keys_missing');
});
