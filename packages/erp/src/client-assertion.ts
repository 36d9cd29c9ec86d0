import { constants, createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import type { OAuth2 } from '@breakwater/contracts/erp-auth-config';

/** Makes the JWT of one token request. */
export type AssertionSigner = () => string;

/** Long enough for clocks that differ, short enough for a token that leaks with a log. */
const LIFE_S = 300;

type Assertion = NonNullable<OAuth2['clientAssertion']>;

/** RFC 7518, 3.1: which key an algorithm takes, and how node:crypto signs with it. */
const ALGORITHMS = {
  PS256: {
    keyType: 'rsa',
    options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
  },
  RS256: { keyType: 'rsa', options: { padding: constants.RSA_PKCS1_PADDING } },
  ES256: { keyType: 'ec', options: { dsaEncoding: 'ieee-p1363' } },
} as const;

/** A signer of JWTs by RFC 7523, 3. Undefined where the key is no PEM private key of the algorithm's kind. */
export function createAssertionSigner(config: OAuth2, assertion: Assertion): AssertionSigner | undefined {
  const { keyType, options } = ALGORITHMS[assertion.algorithm];
  const key = readKey(assertion.privateKey);
  if (key?.asymmetricKeyType !== keyType) return undefined;
  return () => {
    const nowS = Math.floor(Date.now() / 1_000);
    const header = {
      alg: assertion.algorithm,
      typ: 'JWT',
      ...(assertion.keyId !== undefined && { kid: assertion.keyId }),
    };
    const claims = {
      iss: config.clientId,
      sub: config.clientId,
      aud: config.tokenUrl,
      iat: nowS,
      exp: nowS + LIFE_S,
      jti: randomUUID(),
      ...assertion.claims,
    };
    const content = `${encode(header)}.${encode(claims)}`;
    return `${content}.${sign('sha256', Buffer.from(content), { key, ...options }).toString('base64url')}`;
  };
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined; // OpenSSL's words tell nothing that the place does not
  }
}
