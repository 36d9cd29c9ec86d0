import type { Source } from '@breakwater/contracts/source-config';

const MASK = '[secret]';

/** In texts of ours a shorter one would hide ordinary words, and it is no secret that a person could keep. */
const TELLING_LENGTH = 6;

/**
 * Hides the secrets of all `sources` in a text: a request may quote any of them, in its body, its query or its id. `content`:
 * the text is bytes from outside, one character for each, in which also short secrets are hidden.
 */
export function secretMask(
  sources: readonly Source[],
): (text: string, options?: { readonly content?: boolean }) => string {
  const forms = new Set(
    sources.flatMap((source) => source.secrets.flatMap(({ value }) => formsOf(source, value))),
  );
  // The longest first: of a secret that is the beginning of another one nothing may be left over.
  const ordered = [...forms]
    .filter((form) => form !== '')
    .toSorted((one, other) => other.length - one.length);
  return (text, { content = false } = {}) => {
    let shown = text;
    for (const form of ordered) {
      if (content) shown = shown.replaceAll(Buffer.from(form).toString('latin1'), MASK);
      else if (form.length >= TELLING_LENGTH) shown = shown.replaceAll(form, MASK);
    }
    return shown;
  };
}

/** A secret as it may be written: as configured, without its prefix, in a URL, in JSON, in a header of basic authentication. */
function formsOf({ auth }: Source, value: string): string[] {
  const prefixes = auth.flatMap((check) => (check.kind === 'signature' ? [check.keyPrefix] : []));
  const bare = [value, value.trim()].flatMap((each) => [
    each,
    ...prefixes.flatMap((prefix) => (each.startsWith(prefix) ? [each.slice(prefix.length)] : [])),
  ]);
  const isBasic = auth.some((check) => check.kind === 'sharedSecret' && check.in === 'basic');
  const password = isBasic ? [value.slice(value.indexOf(':') + 1)] : [];
  return [...bare, ...password].flatMap((each) => [
    each,
    encodeURIComponent(each.toWellFormed()),
    JSON.stringify(each).slice(1, -1),
    Buffer.from(each).toString('base64'),
    Buffer.from(each).toString('base64').replace(/=+$/, ''),
  ]);
}
