import { html, type SafeHtml } from '@remix-run/html-template';
import { indentJson } from './indent-json.ts';
import { block, when } from './parts.ts';

/** A page of more is slow to open, and nobody reads it here. */
const SHOWN_MAX = 256 * 1024;

export interface Bytes {
  readonly encoding: 'utf8' | 'base64';
  readonly text: string;
}

/** What somebody sent, as text. `label`: what it is, for readers of screens. */
export function payload({ encoding, text }: Bytes, label: string): SafeHtml {
  const indented = encoding === 'utf8' ? indentJson(text) : undefined;
  const shown = indented ?? text.slice(0, SHOWN_MAX);
  return html`<p>
      <small
        >${encoding === 'base64' ? 'It is not UTF-8: shown in base64.' : ''}
        ${when(indented !== undefined, 'Line breaks and indentation are added; the values are unchanged.')}
        ${when(shown.length < text.length && indented === undefined, 'Only its beginning is shown here: the API has the whole.')}</small
      >
    </p>
    ${text === '' ? html`<p class="empty">It is empty.</p>` : block(shown, label)}`;
}

/** Instead of a payload, until somebody asks for it. `to`: the page's own path; `kept`: what else its query holds. */
export const payloadButton = (to: string, kept: Readonly<Record<string, string>> = {}): SafeHtml =>
  html`<form method="get" action="${to}" class="panel">
    <p>Not shown: it may hold personal data.</p>
    ${Object.entries(kept).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
    )}
    <input type="hidden" name="body" value="true" />
    <button>Show the payload</button>
  </form>`;
