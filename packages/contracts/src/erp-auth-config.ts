import { z } from 'zod';
import { timeout } from './duration.ts';
import { headerName } from './source-parts.ts';

const secret = z.string().min(1, 'expected a secret, such as ${ERP_TOKEN}');

/**
 * A client that proves itself with a key instead of a secret (RFC 7523, 2.2), as NetSuite wants it: a JWT signed with the
 * private key whose certificate the ERP knows.
 */
const ClientAssertion = z.strictObject({
  algorithm: z.enum(['PS256', 'RS256', 'ES256']),
  /** The ERP's name for the certificate. */
  keyId: z.string().min(1).optional(),
  /** PEM. */
  privateKey: secret,
  /** Claims beside iss, sub, aud, iat, exp and jti. */
  claims: z.record(z.string(), z.json()).default({}),
});

const OAuth2 = z
  .strictObject({
    kind: z.literal('oauth2'),
    tokenUrl: z.url({ protocol: /^https?$/ }),
    clientId: z.string().min(1),
    clientSecret: secret.optional(),
    clientAssertion: ClientAssertion.optional(),
    scope: z.string().min(1).optional(),
    /** Further fields of the token request, such as `audience`. */
    parameters: z.record(z.string(), z.string()).default({}),
    /** Where id and secret travel: RFC 6749 wants every server to take the header, and some take the body alone. */
    credentials: z.enum(['header', 'body']).default('header'),
    timeout: timeout.default(10_000),
  })
  .refine(
    ({ clientSecret, clientAssertion }) => (clientSecret === undefined) !== (clientAssertion === undefined),
    'expected clientSecret or clientAssertion, one of them',
  );
export type OAuth2 = z.infer<typeof OAuth2>;

/** How the `http` adapter proves who it is. Values are never logged, and are masked where the ERP echoes them. */
export const ErpAuth = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('basic'),
    // RFC 7617: the first colon ends the name.
    username: z.string().regex(/^[^:]*$/, 'expected a name without a colon'),
    password: secret,
  }),
  z.strictObject({ kind: z.literal('bearer'), token: secret }),
  /** An API key in a header of its own. */
  z.strictObject({ kind: z.literal('header'), name: headerName, value: secret }),
  OAuth2,
]);
export type ErpAuth = z.infer<typeof ErpAuth>;
