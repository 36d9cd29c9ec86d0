import type { ADMIN_ROUTES, RouteName } from '@breakwater/contracts/admin-routes';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import type { SafeHtml } from '@remix-run/html-template';
import type { z } from 'zod';
import type { Caller } from '../caller.ts';

/** What a call answers, as JSON has it. */
export type Answer<N extends RouteName> = z.input<(typeof ADMIN_ROUTES)[N]['answer']>;

export interface CallInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** For the version of a record that a form was made for. */
  readonly ifVersion?: number | undefined;
  /** For what must be made once however often its form is sent. */
  readonly idempotencyKey?: string | undefined;
}

/** One look of one person at one page. */
export interface Visit {
  readonly caller: Caller;
  /** Whose things these are. */
  readonly operator: string;
  readonly params: Readonly<Record<string, string>>;
  /** What was asked for, '' and repetitions left out. */
  readonly query: Readonly<Record<string, string>>;
  /** What a form holds, '' included; the last one of repetitions. */
  readonly form: Readonly<Record<string, string>>;
  /** Every field of a form, with repetitions. */
  readonly fields: URLSearchParams;
  readonly config: BreakwaterConfig;
  /** Proves that a form is of this session, and of a page of this operator; see `csrfField`. */
  readonly csrf: string;
  readonly now: number;
  /**
   * Calls a route of the admin API in the name of the person, judged as the API judges it; `operator` is added.
   * Throws AppError for every refusal.
   */
  readonly call: <N extends RouteName>(name: N, input?: CallInput) => Promise<Answer<N>>;
}

/** What comes of a visit. */
export type Sight =
  | { readonly title: string; readonly main: SafeHtml; readonly status?: number }
  | {
      /** A path of ours. */
      readonly goTo: string;
      readonly notice?: Notice;
    };

export interface Page {
  readonly method: 'get' | 'post';
  /** As express writes it. */
  readonly path: string;
  readonly show: (visit: Visit) => Promise<Sight>;
}

/** What was just done, as the next page says it. An address can name one of these and nothing else. */
export const NOTICES = {
  replay_asked: 'The replay was asked for: its attempt is listed here as soon as it has ended.',
  resolved: 'Closed as settled.',
  run_started: 'The replay run is started. Dispatchers carry it out; you may leave this page.',
  run_cancelled: 'The run is cancelled. What was asked for already is attempted all the same.',
  run_resumed: 'The run goes on where it stopped.',
  quarantine_accepted: 'Accepted. Its events are on their way, and it is in quarantine no more.',
  quarantine_known: 'It brought nothing new: its events were accepted before. It is in quarantine no more.',
  quarantine_let_go: 'A challenge or a ping, and no event: it is in quarantine no more.',
  endpoint_saved: 'Saved.',
  nothing_changed: 'Nothing was different, so nothing was changed.',
  endpoint_paused: 'Paused: its deliveries are held until somebody resumes it.',
  endpoint_resumed: 'Resumed: what was held is released, beginning with one at a time.',
  rotation_finished: 'Finished: only the newest secret signs from now on.',
  endpoint_removed: 'Removed. Its open deliveries are dead letters now.',
  endpoint_leaving: 'Removed. Its open deliveries become dead letters within minutes.',
  token_revoked: 'Revoked. Within 5 seconds nothing takes it any more.',
} as const;
export type Notice = keyof typeof NOTICES;
export const isNotice = (name: string): name is Notice => Object.hasOwn(NOTICES, name);
