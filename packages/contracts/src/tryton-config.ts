import { z } from 'zod';
import { duration, timeout } from './duration.ts';

/** A piece of the ERP's own words; compared without regard to case. */
const words = z.string().trim().min(3, 'expected at least 3 characters of what the ERP says');

/**
 * What Tryton says when a login lacks rights (6.0: trytond/model/modelstorage, ir.message). It is a `UserError` like a bad
 * document, but no document is at fault: an administrator mends it, and what waited is then posted.
 */
const ACCESS_ERRORS = ['You are not allowed to access', 'is not allowed.'];

/** The `tryton` adapter: goods receipts (`stock.shipment.in`) of a Tryton ERP, over its JSON-RPC. */
export const TrytonAdapter = z.strictObject({
  kind: z.literal('tryton'),
  /** Root of the server, without the database. */
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'expected an http or https URL such as http://erp.example:8000' })
    .refine((text) => isBare(text), 'expected no credentials, query or fragment: only where the server is'),
  database: z.string().regex(/^[\w.-]+$/, 'expected the name of a database: letters, digits, _ . -'),
  login: z.string().min(1, 'expected the login of a user of its own'),
  /** Keep it outside of the file: ${TRYTON_PASSWORD}. */
  password: z.string().min(1, 'expected a password, as ${TRYTON_PASSWORD}'),
  /**
   * After a refused login nobody logs in again for so long. Tryton counts wrong logins over 5 minutes and then locks out
   * the right password too, so a gateway that keeps knocking would lock itself out for good.
   */
  loginPause: duration.default(300_000).refine((ms) => ms >= 10_000, 'expected at least 10s'),
  /** Ids of products, parties, warehouses and units are remembered so long. */
  codesCache: duration.default(600_000),
  /** A whole posting: log in where needed, resolve codes, create, receive, done. */
  post: z.strictObject({ timeout: timeout.default(30_000) }).prefault({}),
  find: z.strictObject({ timeout: timeout.default(10_000) }).prefault({}),
  /** What a `UserWarning` means: a question that a person would answer in the ERP's own client. */
  warnings: z
    .strictObject({
      /** Keys of warnings that are answered with yes, such as `effective_date_future`; `*` for all. */
      accept: z.array(z.string().min(1)).default([]),
      otherwise: z.enum(['rejected', 'failed']).default('rejected'),
    })
    .prefault({}),
  /** Errors by the ERP's words, above what the adapter knows of itself. `failed` wins where both match. */
  errors: z
    .strictObject({
      rejected: z.array(words).default([]),
      failed: z.array(words).default(ACCESS_ERRORS),
    })
    .prefault({}),
});
export type TrytonAdapter = z.infer<typeof TrytonAdapter>;

function isBare(text: string): boolean {
  const url = URL.parse(text);
  // A text that is no URL is told by the check before this one.
  return !url || (url.username === '' && url.password === '' && url.search === '' && url.hash === '');
}
