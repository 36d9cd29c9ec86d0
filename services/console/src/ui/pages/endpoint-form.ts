import { parseDurationMs, parseScheduleMs, writeDuration } from '@breakwater/contracts/duration';
import type { EndpointPatch } from '@breakwater/contracts/endpoint';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { html, type SafeHtml } from '@remix-run/html-template';
import { area, choice, field, tick } from '../forms.ts';
import type { Visit } from '../page.ts';
import { foreign, when } from '../parts.ts';
import type { Issue } from '../refusal.ts';
import type { Endpoint } from './endpoint-parts.ts';

/** What the form calls the settings, by the name of the field; and of the member of the request, where that is another. */
export const LABELS = {
  url: 'URL',
  description: 'Description',
  types: 'Event types',
  sources: 'Sources',
  reference: 'Reference',
  body: 'Body',
  timeout: 'Timeout',
  maxInFlight: 'Attempts at once',
  perSecond: 'Attempts per second',
  burst: 'Attempts at once after a pause',
  schedule: 'Schedule of attempts',
} as const;
export type SettingName = keyof typeof LABELS;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.keys forgets which there are
export const SETTING_NAMES = Object.keys(LABELS) as SettingName[];

export const LABELS_OF_REQUEST: Readonly<Record<string, string>> = {
  ...LABELS,
  timeoutMs: LABELS.timeout,
  scheduleMs: LABELS.schedule,
  rateLimit: 'Rate limit',
  headers: 'Headers',
  overlapMs: 'Overlap',
  reason: 'Reason',
};

/** The settings as the form writes them. */
export type Values = Readonly<Record<SettingName, string>>;

/** As one was stored. An existing reference is kept until another one is chosen. */
export const valuesOf = (endpoint: Endpoint): Values => ({
  url: endpoint.url,
  description: endpoint.description,
  types: endpoint.types.join('\n'),
  sources: endpoint.sources.toSorted().join('\n'),
  reference: '',
  body: endpoint.body,
  timeout: writeDuration(endpoint.timeoutMs),
  maxInFlight: String(endpoint.maxInFlight),
  perSecond: endpoint.rateLimit ? String(endpoint.rateLimit.perSecond) : '',
  burst: endpoint.rateLimit ? String(endpoint.rateLimit.burst) : '',
  schedule: endpoint.scheduleMs?.map(writeDuration).join(', ') ?? '',
});

/** What a new one is offered: the deployment's own defaults. */
export const newValues = ({ config: { deliveries } }: Visit): Values => ({
  ...emptyValues,
  types: '*',
  body: 'envelope',
  timeout: writeDuration(deliveries.timeout),
  maxInFlight: String(deliveries.maxInFlight),
});

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has every name
const emptyValues = Object.fromEntries(SETTING_NAMES.map((name) => [name, ''])) as Values;

/** As they were filled in. */
export const filledIn = ({ form, fields }: Visit): Values => ({
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has every name
  ...(Object.fromEntries(
    SETTING_NAMES.map((name) => [name, (form[name] ?? '').replaceAll('\r\n', '\n').trim()]),
  ) as Values),
  sources: fields.getAll('sources').toSorted().join('\n'),
});

const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/**
 * The request that the form means. What is no number or duration is said in `mistakes`, beside what the schema finds. An empty
 * field is the deployment's default.
 */
export function settingsOf(values: Values): { settings: EndpointPatch; mistakes: Issue[] } {
  const mistakes: Issue[] = [];
  const mistake = (path: string, message: string): undefined => void mistakes.push({ path, message });
  const number = (path: string, text: string): number | undefined =>
    text === '' || Number.isFinite(Number(text)) ? Number(text) : mistake(path, 'expected a number');
  const { perSecond, burst, timeout, maxInFlight, schedule, reference } = values;
  if (perSecond === '' && burst !== '')
    mistake('rateLimit', 'attempts at once after a pause need attempts per second too');
  const [perSecondNumber, burstNumber] = [number('rateLimit', perSecond), number('rateLimit', burst)];
  const timeoutMs =
    timeout === '' ? undefined : (parseDurationMs(timeout) ?? mistake('timeoutMs', 'expected 1s to 30s'));
  const scheduleMs =
    schedule === ''
      ? null
      : (parseScheduleMs(words(schedule).join(',')) ??
        mistake('scheduleMs', 'expected waits such as 0s, 1m, 5m; each is one attempt, none above 30d'));
  const atOnce = maxInFlight === '' ? undefined : number('maxInFlight', maxInFlight);
  return {
    mistakes,
    settings: {
      url: values.url,
      description: values.description,
      types: words(values.types),
      sources: words(values.sources),
      body: values.body === 'raw' ? 'raw' : 'envelope',
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(atOnce !== undefined && { maxInFlight: atOnce }),
      rateLimit:
        perSecond === '' || perSecondNumber === undefined
          ? null
          : {
              perSecond: perSecondNumber,
              ...(burst !== '' && burstNumber !== undefined && { burst: burstNumber }),
            },
      ...(scheduleMs !== undefined && { scheduleMs }),
      ...((reference === 'event' || reference === 'source') && { reference }),
    },
  };
}

/** `name: value`, one a line. No message repeats a value: it may be a credential. */
export function headersOf(text: string): { headers: Record<string, string>; mistakes: Issue[] } {
  const headers = new Map<string, string>();
  const mistakes: Issue[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).trim().toLowerCase();
    if (name === '')
      mistakes.push({ path: 'headers', message: `line ${index + 1} is not of the form "name: value"` });
    else if (headers.has(name)) mistakes.push({ path: 'headers', message: `${name} is given twice` });
    else headers.set(name, line.slice(colon + 1).trim());
  }
  return { headers: Object.fromEntries(headers), mistakes };
}

/** The fields of the settings. `sources`: the operator's. `reference`: of an existing endpoint. */
export const settingFields = (
  values: Values,
  { sources, reference }: { readonly sources: readonly string[]; readonly reference?: Endpoint['reference'] },
): SafeHtml =>
  html`${field({ name: 'url', label: LABELS.url, type: 'url', value: values.url, required: true, maxLength: 2_048, placeholder: 'https://partner.example/webhooks', hint: 'Redirects are not followed: give the final URL. Private addresses are refused.' })}
    ${field({ name: 'description', label: LABELS.description, value: values.description, maxLength: 500 })}
    ${area({ name: 'types', label: LABELS.types, value: values.types, hint: 'One a line, such as order.paid or order.*; * stands for any text. Empty: all.' })}
    ${sourceTicks(values, sources)}
    ${choice(
      'reference',
      LABELS.reference,
      [
        [
          '',
          reference === undefined
            ? 'the event id, where one source feeds it'
            : `as it is: ${WORDS[reference]}`,
        ],
        ['event', WORDS.event],
        ['source', WORDS.source],
      ],
      values.reference,
    )}
    <p>
      <small
        >The reference is sent as webhook-id, on which receivers dedupe. Event ids are unique per source only,
        so an endpoint that several sources feed needs source:event id.</small
      >
    </p>
    ${choice(
      'body',
      LABELS.body,
      [
        ['envelope', 'envelope: id, type, timestamp, data'],
        ['raw', "raw: the source's own bytes alone"],
      ],
      values.body,
    )}
    <fieldset>
      <legend>Limits</legend>
      ${field({ name: 'timeout', label: LABELS.timeout, value: values.timeout, hint: '1s to 30s, until the headers of the answer have arrived.' })}
      ${field({ name: 'maxInFlight', label: LABELS.maxInFlight, value: values.maxInFlight, hint: '1 to 1000.' })}
      ${field({ name: 'perSecond', label: LABELS.perSecond, value: values.perSecond, hint: 'A number such as 20 or 0.1. Empty: no limit.' })}
      ${field({ name: 'burst', label: LABELS.burst, value: values.burst, hint: "Empty: one second's worth." })}
      ${field({ name: 'schedule', label: LABELS.schedule, value: values.schedule, placeholder: '0s, 1m, 5m, 15m, 1h, 6h', hint: "The wait before each attempt. Empty: the deployment's own." })}
    </fieldset>`;

const WORDS = { event: 'the event id', source: 'source:event id' } as const;

function sourceTicks({ sources: ticked }: Values, known: readonly string[]): SafeHtml {
  const on = words(ticked);
  const names = [...new Set([...known, RESERVED_SOURCE, ...on])];
  return html`<fieldset>
    <legend>${LABELS.sources}</legend>
    <p><small>None ticked: the events of every source of the operator.</small></p>
    ${names.map((name) =>
      tick(
        'sources',
        html`${foreign(name)}${when(name === RESERVED_SOURCE, html` <small>published by applications</small>`)}`,
        { value: name, on: on.includes(name) },
      ),
    )}
  </fieldset>`;
}
