import { html, type SafeHtml } from '@remix-run/html-template';
import type { Caller } from '../caller.ts';
import { assetPath } from './assets.ts';
import { csrfField } from './forms.ts';
import { foreign, when } from './parts.ts';
import { BOARD_PATH } from './queue-board.ts';

/** What is in the head line of every page; `admin`: for administrators alone; `also`: pages that are reached from there. */
const MENU: readonly {
  readonly at: string;
  readonly title: string;
  readonly admin?: true;
  readonly also?: string;
}[] = [
  { at: '/', title: 'Overview' },
  { at: '/deliveries', title: 'Deliveries', also: '/events' },
  { at: '/dead-letters', title: 'Dead letters' },
  { at: '/endpoints', title: 'Endpoints' },
  { at: '/reconciliation', title: 'Reconciliation' },
  { at: '/replays', title: 'Replays' },
  { at: '/sources', title: 'Sources', also: '/quarantine' },
  { at: '/audit', title: 'Audit' },
  { at: '/tokens', title: 'Tokens', admin: true },
  { at: BOARD_PATH, title: 'Queues', admin: true },
];

export interface Frame {
  readonly title: string;
  readonly main: SafeHtml;
  /** What was just done. */
  readonly notice?: string | undefined;
  /** The page that is shown, to mark it in the menu. */
  readonly at: string;
  readonly session?:
    | {
        readonly caller: Caller;
        readonly operator: string;
        readonly csrf: string;
        /** To choose from; others may be typed in. */
        readonly operators: readonly string[];
      }
    | undefined;
}

/** A whole page. Scripts and styles come from files of ours alone: the policy of content refuses all others. */
export function layout({ title, main, notice, at, session }: Frame): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta
          name="htmx-config"
          content='{"allowEval":false,"allowScriptTags":false,"includeIndicatorStyles":false,"selfRequestsOnly":true,"historyCacheSize":0,"timeout":10000}'
        />
        <title>${title} · Breakwater</title>
        <link rel="icon" href="${assetPath('icon.svg')}" type="image/svg+xml" />
        <link rel="stylesheet" href="${assetPath('uplot.css')}" />
        <link rel="stylesheet" href="${assetPath('console.css')}" />
        <script src="${assetPath('htmx.js')}" defer></script>
        <script src="${assetPath('uplot.js')}" defer></script>
        <script src="${assetPath('console.js')}" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">To the content</a>
        <header>
          <a class="brand" href="/">Breakwater</a>
          ${session ? menu(at, session.caller) : ''} ${session ? account(session) : ''}
        </header>
        <main id="main" tabindex="-1" ${session ? ownOperator(session.operator) : ''}>
          <h1>${title}</h1>
          <p id="stale" class="error" role="status" hidden>
            This page could not read itself again: what it shows may be old. It keeps trying.
          </p>
          ${when(notice !== undefined, html`<p class="notice" role="status">${notice}</p>`)} ${main}
        </main>
      </body>
    </html>`;
  return String(page);
}

/** Parts that read themselves again stay with the operator of their page, whatever another tab has chosen meanwhile. */
const ownOperator = (operator: string): SafeHtml => html`hx-vals="${JSON.stringify({ operator })}"`;

const menu = (at: string, { scope }: Caller): SafeHtml =>
  html`<nav aria-label="Main">
    <ul>
      ${MENU.filter(({ admin }) => !admin || scope.role === 'admin').map(
        (each) =>
          html`<li>
            <a
              href="${each.at}"
              ${when(isAt(at, each.at) || (each.also !== undefined && isAt(at, each.also)), html`aria-current="page"`)}
              >${each.title}</a
            >
          </li>`,
      )}
    </ul>
  </nav>`;

const isAt = (at: string, of: string): boolean => at === of || (of !== '/' && at.startsWith(`${of}/`));

/** Who is signed in, for which operator, and the way out. */
function account({ caller, operator, csrf, operators }: NonNullable<Frame['session']>): SafeHtml {
  return html`<div class="account">
    ${
      caller.scope.operator === null
        ? html`<form method="post" action="/operator" class="operator">
            ${csrfField({ csrf })}
            <label for="operator">Operator</label>
            <input
              id="operator"
              name="operator"
              value="${operator}"
              size="10"
              list="operators"
              maxlength="63"
              autocomplete="off"
              required
            />
            <datalist id="operators">
              ${operators.map((each) => html`<option value="${each}"></option>`)}
            </datalist>
            <button>Switch</button>
          </form>`
        : html`<span>Operator <strong>${operator}</strong></span>`
    }
    <form method="post" action="/sign-out">
      ${csrfField({ csrf })}
      <button title="${caller.actor}">Sign out</button>
    </form>
    <span class="unseen">Signed in as ${foreign(caller.actor)}</span>
  </div>`;
}
