import { html, type SafeHtml } from '@remix-run/html-template';
import type { Visit } from './page.ts';
import { when } from './parts.ts';

export const csrfField = ({ csrf }: Pick<Visit, 'csrf'>): SafeHtml =>
  html`<input type="hidden" name="csrf" value="${csrf}" />`;

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly value?: string | undefined;
  readonly type?: 'text' | 'search' | 'number' | 'datetime-local' | 'url' | 'password';
  readonly hint?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly placeholder?: string;
}

/** One line to fill in, with its label and what to know about it. */
export function field({ name, label, value = '', type = 'text', ...more }: Field): SafeHtml {
  const { hint, required, maxLength, placeholder } = more;
  return html`<div class="field">
    <label for="f-${name}">${label}</label>
    <input
      id="f-${name}"
      name="${name}"
      type="${type}"
      value="${value}"
      autocomplete="off"
      ${when(required, html`required`)}
      ${when(maxLength !== undefined, html`maxlength="${maxLength}"`)}
      ${when(placeholder !== undefined, html`placeholder="${placeholder}"`)}
      ${when(hint !== undefined, html`aria-describedby="h-${name}"`)}
    />
    ${when(hint !== undefined, html`<small id="h-${name}">${hint}</small>`)}
  </div>`;
}

export function choice(
  name: string,
  label: string,
  options: readonly (readonly [value: string, shown: string])[],
  value = '',
): SafeHtml {
  return html`<div class="field">
    <label for="f-${name}">${label}</label>
    <select id="f-${name}" name="${name}">
      ${options.map(
        ([each, shown]) =>
          html`<option value="${each}" ${when(each === value, html`selected`)}>${shown}</option>`,
      )}
    </select>
  </div>`;
}

export function tick(
  name: string,
  label: SafeHtml | string,
  options: { readonly on?: boolean; readonly required?: boolean; readonly value?: string } = {},
): SafeHtml {
  const { value = 'true' } = options;
  const id = value === 'true' ? `f-${name}` : `f-${name}-${value}`; // one of several of the same name
  return html`<div class="tick">
    <input
      id="${id}"
      name="${name}"
      type="checkbox"
      value="${value}"
      ${when(options.on, html`checked`)}
      ${when(options.required, html`required`)}
    />
    <label for="${id}">${label}</label>
  </div>`;
}

/** Several lines to fill in. */
export function area({
  name,
  label,
  value = '',
  hint,
  placeholder,
}: Pick<Field, 'name' | 'label' | 'value' | 'hint' | 'placeholder'>): SafeHtml {
  return html`<div class="field">
    <label for="f-${name}">${label}</label>
    <textarea
      id="f-${name}"
      name="${name}"
      spellcheck="false"
      ${when(placeholder !== undefined, html`placeholder="${placeholder}"`)}
      ${when(hint !== undefined, html`aria-describedby="h-${name}"`)}
    >
${value}</textarea>
    ${when(hint !== undefined, html`<small id="h-${name}">${hint}</small>`)}
  </div>`;
}

/** Why something is done, for whoever asks later. */
export const reasonField = (
  { form }: Pick<Visit, 'form'>,
  options: { readonly optional?: true } = {},
): SafeHtml =>
  field({
    name: 'reason',
    label: options.optional ? 'Reason (may be empty)' : 'Reason',
    required: !options.optional,
    maxLength: 500,
    value: form['reason'],
    hint: 'Goes into the audit log.',
  });
