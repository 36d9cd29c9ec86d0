import { type AppError, type ErrorCode, ERROR_CODES } from '@breakwater/runtime/errors';

/** Where the table of errors speaks to people at a terminal, the same for people at a page. */
const AT_A_PAGE: Partial<Readonly<Record<ErrorCode, string>>> = {
  acknowledgement_needed:
    'The receiver already had this: tick the box that says that it dedupes durably, and replay again.',
  endpoint_removed: 'Register the endpoint anew for future events; close this delivery as settled.',
  rotation_open: 'Finish it first, or rotate without an overlap.',
  secret_unreadable: 'Rotate the secret without an overlap, or set the header again.',
  token_scope: 'Sign in with a token whose scope allows this.',
  too_many_runs: 'Wait until one has ended, or cancel one on its page.',
};

/** What a person at a page can do about an error; '' when its message says it. An error that brings its own remedy keeps it. */
export const remedyAtPage = ({ code, remedy }: AppError): string =>
  remedy === ERROR_CODES[code].remedy ? (AT_A_PAGE[code] ?? remedy) : remedy;
