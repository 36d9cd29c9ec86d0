/** What one user of the Standard Webhooks scheme (standardwebhooks.com) has of its own. */
export interface StandardScheme {
  readonly algorithm: 'hmac-sha256' | 'ed25519';
  /** Which signatures of the list are meant: `v1` symmetric, `v1a` asymmetric. */
  readonly version: 'v1' | 'v1a';
  /** How the secret's text becomes key bytes, and what stands before it. */
  readonly key: string;
  readonly keyPrefix?: string;
}

/** `auth` and `eventId` of a source: `<id>.<timestamp>.<body>` signed, a list of signatures, the id in a signed header. */
export function standardScheme({ algorithm, version, key, keyPrefix }: StandardScheme) {
  return {
    auth: {
      kind: 'signature',
      algorithm,
      signature: {
        header: 'webhook-signature',
        list: { separator: ' ', keyValue: ',', pick: version },
        encoding: 'base64',
      },
      key,
      ...(keyPrefix !== undefined && { keyPrefix }),
      timestamp: { header: 'webhook-timestamp' },
      join: '.',
      signed: [{ header: 'webhook-id' }, 'timestamp', 'body'],
    },
    eventId: { header: 'webhook-id' },
  };
}
