import { AppError } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import type { Sight } from './page.ts';
import { when } from './parts.ts';

/**
 * Does what a form asks for; what is refused is said by `again`, on the page where the form is. What is not there, and our own
 * trouble, is a page of its own: then nobody knows whether the form's page can be shown, or whether the thing was done.
 */
export async function orAgain(
  act: () => Promise<Sight>,
  again: (refusal: AppError) => Promise<Sight>,
): Promise<Sight> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'not_found' || error.status >= 500) throw error;
    return again(error);
  }
}

/** What was refused and what to do; nothing where nothing was. */
export const refusalNote = (refusal: AppError | undefined): SafeHtml | string =>
  when(
    refusal !== undefined,
    html`<p class="error" role="alert">${refusal?.message ?? ''} ${refusal?.remedy ?? ''}</p>`,
  );
