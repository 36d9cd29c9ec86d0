import { html, type SafeHtml } from '@remix-run/html-template';
import { when } from '../parts.ts';

/** Sign-in by token. `next`: where to go on to; `refusal`: what was wrong with the token before. */
export const signInForm = (next: string, refusal?: string): SafeHtml =>
  html`<form method="post" action="/sign-in" class="panel narrow">
    ${when(refusal !== undefined, html`<p class="error" role="alert" id="refusal">${refusal}</p>`)}
    <input type="hidden" name="next" value="${next}" />
    <div class="field">
      <label for="token">Token</label>
      <input
        id="token"
        name="token"
        type="password"
        autocomplete="current-password"
        required
        autofocus
        ${when(refusal !== undefined, html`aria-invalid="true" aria-describedby="refusal"`)}
      />
      <small>One that <code>breakwater tokens create</code> made, or the administrator's.</small>
    </div>
    <button class="primary">Sign in</button>
  </form>`;
