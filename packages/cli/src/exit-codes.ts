import type { AppError } from '@breakwater/runtime/errors';

/** Append only: scripts depend on them. docs/cli.md repeats them. */
export const EXIT = { ok: 0, failure: 1, usage: 2, notFound: 3, refused: 4, findings: 5 } as const;

export const EXIT_CODES_HELP = `
Exit codes:
  0  done
  1  failed: Redis is not reachable, the configuration is not valid, what was waited for did not come
  2  the command line or the request is not valid
  3  not found, or not this operator's
  4  refused in the present state: in flight, paused, needs an acknowledgement, still refused ...
  5  done, and it found what does not agree (reconcile)`;

/** For the help of single commands. */
export const EXIT_CODES_HINT = 'Exit codes: breakwater --help';

export function exitCodeOf(error: AppError): number {
  switch (error.status) {
    case 400:
      return EXIT.usage;
    case 404:
      return EXIT.notFound;
    case 409:
      return EXIT.refused;
    default:
      return EXIT.failure;
  }
}
