import { printable } from '@breakwater/core/printable';
import type { CheckReport, Explanation, SignedBytes } from '@breakwater/signatures/explain';
import type { Outcome } from './verify.ts';

type Result = Outcome & {
  readonly source: string;
  readonly judgedAt: number;
  readonly notes: readonly string[];
} & Pick<Explanation, 'checks' | 'slips'>;

/** What a person reads. Everything that came with the request is escaped. */
export function verifyText(result: Result): string {
  return [
    headline(result),
    ...result.notes.map((note) => `note: ${note}`),
    ...result.checks.flatMap((check, index) => checkLines(check, index)),
    ...(result.slips.length > 0 ? ['', 'Likely cause:'] : []),
    ...result.slips.map(({ says }) => `- ${says}`),
    ...(result.kind === 'refused' && result.slips.length === 0 && isAboutSignature(result.code)
      ? ['', NOTHING_FITS]
      : []),
  ]
    .map(printable)
    .join('\n');
}

const NOTHING_FITS =
  'None of the usual mistakes explains it (newlines, line ends, JSON written again, encodings, prefixes, headers, white space in secrets, secrets of other sources). Compare length and sha256 of the signed bytes with the sender, then enter the secret again on both sides.';

const isAboutSignature = (code: string): boolean => code === 'signature_invalid';

function headline(result: Result): string {
  switch (result.kind) {
    case 'event': {
      const by = result.secretId === '' ? '' : ` with secret ${result.secretId}`;
      return `It verifies against ${result.source}${by}: event ${result.eventIds.join(', ') || 'none'}.`;
    }
    case 'handshake':
      return `It is a challenge or a ping of ${result.source}: answered, and no event.`;
    case 'refused':
      return `It is refused (${result.code}): ${result.message}`;
  }
}

function checkLines(check: CheckReport, index: number): string[] {
  const { algorithm, message, secrets, signed, signedAt } = check;
  return [
    '',
    `check ${index + 1}: ${algorithm ?? check.kind}: ${check.result.replace('_', ' ')}`,
    ...(message === undefined ? [] : [`  why      ${message}`]),
    ...signed.flatMap((bytes) => signedLines(bytes)),
    ...(secrets.length === 0 ? [] : [`  secrets  ${secrets.map(secretText).join(', ')}`]),
    ...(signedAt === undefined ? [] : [`  time     signed at ${new Date(signedAt).toISOString()}`]),
  ];
}

const secretText = ({ id, inForce }: CheckReport['secrets'][number]): string =>
  inForce ? id : `${id} (not in force)`;

const signedLines = ({ sizeBytes, sha256, first, last }: SignedBytes): string[] => [
  `  signed   ${sizeBytes} bytes, sha256 ${sha256}`,
  `  bytes    ${shown(first)}${last === '' ? '' : ` ... ${shown(last)}`}`,
];

/** One character for each byte: JSON's escapes show line ends, the rest as \x.. */
const shown = (text: string): string =>
  `"${text.replaceAll(/[^\x20-\x7E]|["\\]/g, (byte) => ESCAPES[byte] ?? String.raw`\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)}"`;

const ESCAPES: Readonly<Record<string, string>> = {
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
  '"': String.raw`\"`,
  '\\': String.raw`\\`,
};
