import { html, type SafeHtml } from '@remix-run/html-template';
import type { Answer } from './page.ts';
import { table, time, when } from './parts.ts';

type Fleet = NonNullable<Answer<'getStats'>['fleet']>;
type TargetFigures = Fleet['targets'][number];
type TargetHistory = NonNullable<Fleet['history']>['targets'][number];

/** As many as stand beside the curve. */
const VALUES_SHOWN = 6;

export const owedOf = ({ expected, resolved }: Pick<TargetFigures, 'expected' | 'resolved'>): number =>
  expected - resolved;

/** Whether the two lines are one, in words. */
export function compare(owed: number, postings: number): string {
  if (owed === postings) return 'equal';
  return postings < owed ? `${owed - postings} not posted yet` : `${postings - owed} posted too many`;
}

/**
 * Accepted against postings of one ERP target: two lines that should be one, and their last values in a table, for whoever
 * cannot see it or has no scripts. The lines differ in their dashes, not in colour alone.
 */
export function curve(
  figures: TargetFigures,
  history: TargetHistory,
  { stepMs, rangeMs }: { readonly stepMs: number; readonly rangeMs: number },
  now: number,
): SafeHtml {
  const { target, postings } = figures;
  const owed = owedOf(figures);
  const { points, resetAt } = history;
  const words = `accepted ${owed}, posted ${postings}: ${compare(owed, postings)}`;
  return html`<section class="panel" aria-labelledby="curve-${target}">
    <h3 id="curve-${target}">${target}</h3>
    <p class="headline">${words}</p>
    ${when(resetAt !== null, html`<p><small>The counters began anew ${time(resetAt, now)}: what was before is not shown.</small></p>`)}
    <div class="beside">
      <figure class="curve" hidden>
        <div
          class="plot"
          role="img"
          aria-label="${target}: ${words}"
          data-curve="${JSON.stringify({ from: (now - rangeMs) / 1_000, to: now / 1_000, ...linesOf(points, stepMs) })}"
        ></div>
        <figcaption>
          <span class="line solid">accepted, to be posted</span> <span class="line dashed">posted</span>
          <small>Times in UTC. A gap: nothing was written.</small>
        </figcaption>
      </figure>
      ${table(
        `Last values of ${target}`,
        [
          { title: 'At (UTC)', cell: ({ at }) => clock(at) },
          { title: 'Accepted', cell: (point) => point.owed, numeric: true },
          { title: 'Posted', cell: (point) => point.postings, numeric: true },
          { title: 'At the ERP', cell: ({ documents }) => documents ?? '–', numeric: true },
        ],
        points.slice(-VALUES_SHOWN).toReversed(),
        'No history yet. Its first point comes within 10 seconds.',
      )}
    </div>
  </section>`;
}

/** The newest of a day at most, so the hour is enough; there is little room. */
const clock = (at: number): SafeHtml => {
  const utc = new Date(at).toISOString();
  return html`<time datetime="${utc}">${utc.slice(11, 19)}</time>`;
};

/** Seconds, and the two lines; null where points are missing, so that no line is drawn through what nobody knows. */
export function linesOf(
  points: TargetHistory['points'],
  stepMs: number,
): { readonly at: number[]; readonly owed: (number | null)[]; readonly posted: (number | null)[] } {
  const at: number[] = [];
  const owed: (number | null)[] = [];
  const posted: (number | null)[] = [];
  const add = (ms: number, ...[first, second]: [number | null, number | null]): void => {
    at.push(ms / 1_000);
    owed.push(first);
    posted.push(second);
  };
  let last: number | undefined;
  for (const point of points) {
    // A point may be anywhere in its step, so two neighbours are less than two steps apart.
    if (last !== undefined && point.at - last >= 2 * stepMs) add(last + stepMs, null, null);
    add(point.at, point.owed, point.postings);
    last = point.at;
  }
  return { at, owed, posted };
}
