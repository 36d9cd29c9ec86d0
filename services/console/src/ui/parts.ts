import { formatDuration } from '@breakwater/contracts/duration';
import type { DeliveryStatus } from '@breakwater/contracts/delivery';
import { printable, printableLines } from '@breakwater/core/printable';
import { html, type SafeHtml } from '@remix-run/html-template';

/** The small things that pages are made of. `html` escapes whatever it is given; nothing here is ever marked as safe by hand. */

/** What is there only sometimes: a bare `false` would be shown as a word. */
export const when = (condition: boolean | undefined, then: SafeHtml | string): SafeHtml | string =>
  condition ? then : '';

/** A moment in words and in UTC. `at` in ms since the epoch. */
export function time(at: number | null | undefined, now: number): SafeHtml {
  if (at === null || at === undefined || at <= 0) return html`<span class="none">–</span>`;
  const utc = new Date(at).toISOString();
  return html`<time datetime="${utc}"
    >${inWords(at - now)} <small>${utc.slice(0, 19).replace('T', ' ')} UTC</small></time
  >`;
}

export function inWords(waitMs: number): string {
  if (Math.abs(waitMs) < 1_000) return 'now';
  return waitMs > 0 ? `in ${formatDuration(waitMs)}` : `${formatDuration(-waitMs)} ago`;
}

/** Words, so that nobody needs the colour. */
const STATUS_WORDS: Readonly<Record<DeliveryStatus, string>> = {
  pending: 'pending',
  failed: 'failed, retrying',
  held: 'held',
  sent: 'sent',
  dead_letter: 'dead letter',
  resolved: 'resolved',
};
export const status = (of: DeliveryStatus): SafeHtml =>
  html`<span class="status" data-status="${of}">${STATUS_WORDS[of]}</span>`;

/** Text of strangers on one line: what would be obeyed (controls, direction marks) is spelled out instead. */
export const foreign = (text: string): SafeHtml => html`<bdi>${printable(text)}</bdi>`;
export const code = (text: string): SafeHtml => html`<code dir="ltr">${printable(text)}</code>`;
/** The same with its lines, for answers of receivers and payloads. */
export const block = (text: string, label: string): SafeHtml =>
  html`<pre class="foreign" dir="ltr" tabindex="0" role="region" aria-label="${label}">
${printableLines(text)}</pre>`;

/** Terms and what they are, in order. */
export const facts = (rows: readonly (readonly [string, SafeHtml | string | number] | false)[]): SafeHtml =>
  html`<dl class="facts">
    ${rows.map((row) =>
      row
        ? html`<div>
            <dt>${row[0]}</dt>
            <dd>${row[1]}</dd>
          </div>`
        : '',
    )}
  </dl>`;

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => SafeHtml | string | number;
  /** Numbers, to be compared down the column. */
  readonly numeric?: true;
}

/** A table that a phone can scroll sideways and a screen reader can name. */
export function table<T>(
  caption: string,
  columns: readonly Column<T>[],
  rows: readonly T[],
  none: SafeHtml | string,
): SafeHtml {
  if (rows.length === 0) return html`<p class="empty">${none}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(({ title, numeric }) => html`<th scope="col" ${when(numeric, html` class="number"`)}>${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${columns.map(({ cell, numeric }) => html`<td${when(numeric, html` class="number"`)}>${cell(row)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** A path of ours with a query, or with more of one; what is undefined or '' is left out. */
export function link(
  path: string,
  query: Readonly<Record<string, string | number | null | undefined>> = {},
): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  if (search.size === 0) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${search.toString()}`;
}

/** A path with ids that may hold anything. */
export const path = (...segments: readonly string[]): string =>
  `/${segments.map((segment) => encodeURIComponent(segment)).join('/')}`;

/** To an event. A browser takes `.` and `..` in a path for steps, however they are encoded: such an id is asked for. */
export const eventPath = (source: string, eventId: string): string =>
  eventId === '.' || eventId === '..'
    ? link('/events', { source, event: eventId })
    : path('events', source, eventId);

/** To the next page of a list; there is no way back but the browser's own. */
export const nextPage = (
  to: string,
  query: Readonly<Record<string, string>>,
  cursor: string | null,
): SafeHtml =>
  cursor === null
    ? html``
    : html`<nav aria-label="Pages">
        <a class="button" href="${link(to, { ...query, cursor })}">Next page</a>
      </nav>`;

/**
 * Reads itself again from `at` every so many seconds and replaces itself, until what it becomes says 'no more'; readers of screens are told only what `aria-live` says.
 * The address of the page itself will not do: it may be one that only takes a form.
 */
export const live = (id: string, seconds: number | 'no more', at: string, inner: SafeHtml): SafeHtml =>
  seconds === 'no more'
    ? html`<div id="${id}">${inner}</div>`
    : html`<div
        id="${id}"
        hx-get="${at}"
        hx-trigger="every ${seconds}s"
        hx-select="#${id}"
        hx-swap="outerHTML"
      >
        ${inner}
      </div>`;
