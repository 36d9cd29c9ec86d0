import { AppError } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import { z } from 'zod';
import type { Sight } from './page.ts';
import { remedyAtPage } from './remedies.ts';
import { printable } from '@breakwater/core/printable';

const Issues = z.array(z.object({ path: z.string(), message: z.string() }));
export type Issue = z.infer<typeof Issues>[number];

/**
 * Does what a form asks for. What is refused is said by `again` on the page where the form is, as it was filled in; what no
 * other input would mend (nothing there, not allowed, a fault of ours) becomes a page of its own.
 */
export async function tryForm(
  act: () => Promise<Sight>,
  again: (refused: AppError) => Promise<Sight>,
): Promise<Sight> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500 || [401, 403, 404].includes(error.status))
      throw error;
    return { ...(await again(error)), status: error.status };
  }
}

/** What was wrong, every mistake of it, and what to do. `labels`: what the form calls the members of the request. */
export function refusal(
  error: AppError | undefined,
  labels: Readonly<Record<string, string>> = {},
): SafeHtml | string {
  if (!error) return '';
  const issues = Issues.safeParse(error.details['issues']).data ?? [];
  if (issues.length === 0)
    return html`<p class="error" role="alert">${printable(error.message)} ${remedyAtPage(error)}</p>`;
  return html`<div class="error" role="alert">
    <p>Nothing was done. What is to be mended:</p>
    <ul>
      ${issues.map(({ path, message }) => html`<li>${labelOf(path, labels)}${printable(message)}</li>`)}
    </ul>
  </div>`;
}

function labelOf(path: string, labels: Readonly<Record<string, string>>): string {
  const [member = '', ...rest] = path.split('.');
  if (member === '') return '';
  const index = Number(rest[0]);
  const which = Number.isInteger(index) ? ` (number ${index + 1})` : '';
  return `${printable(labels[member] ?? member)}${which}: `;
}

/** A request that a form made, with every mistake of it at once. `mistakes`: what could not be read as what it should be. */
export function judgeForm<T extends z.ZodType>(
  schema: T,
  body: z.input<T>,
  mistakes: readonly Issue[],
): z.input<T> {
  const known = new Set(mistakes.map(({ path }) => path));
  const judged = schema.safeParse(body);
  const others = (judged.error?.issues ?? [])
    .map(({ path, message }) => ({ path: path.join('.'), message }))
    .filter(({ path }) => !known.has(path.split('.')[0] ?? ''));
  const issues = [...mistakes, ...others];
  if (issues.length > 0)
    throw new AppError('request_invalid', 'The form is not filled in as it should be.', {
      details: { issues },
    });
  return body;
}
