import { EndpointPatch, NewEndpointSettings } from '@breakwater/contracts/endpoint';
import { newId } from '@breakwater/contracts/ids';
import { AppError } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import { z } from 'zod';
import { checkAccess } from '../../caller.ts';
import { area, csrfField, reasonField, tick } from '../forms.ts';
import type { Page, Sight, Visit } from '../page.ts';
import { code, path, when } from '../parts.ts';
import { judgeForm, refusal, tryForm } from '../refusal.ts';
import {
  filledIn,
  headersOf,
  LABELS,
  LABELS_OF_REQUEST,
  newValues,
  SETTING_NAMES,
  type SettingName,
  settingFields,
  settingsOf,
  type Values,
  valuesOf,
} from './endpoint-form.ts';
import { type Endpoint, endpointOf, idOf, secretOnce, whichEndpoint } from './endpoint-parts.ts';

export const endpointEditPages: readonly Page[] = [
  { method: 'get', path: '/endpoints/new', show: (visit) => newForm(visit, newValues(visit)) },
  {
    method: 'post',
    path: '/endpoints/new',
    show: (visit) =>
      tryForm(
        () => register(visit),
        (refused) => newForm(visit, filledIn(visit), refused),
      ),
  },
  { method: 'get', path: '/endpoints/:id/edit', show: (visit) => editForm(visit) },
  {
    method: 'post',
    path: '/endpoints/:id/edit',
    show: (visit) =>
      tryForm(
        () => save(visit),
        (refused) => editForm(visit, refused),
      ),
  },
];

async function register(visit: Visit): Promise<Sight> {
  const { settings, mistakes } = settingsOf(filledIn(visit));
  const { headers, mistakes: ofHeaders } = headersOf(visit.form['headers'] ?? '');
  const wanted = { ...settings, url: settings.url ?? '', headers };
  const body = judgeForm(NewEndpointSettings, wanted, [...mistakes, ...ofHeaders]);
  const { id, secret } = await visit.call('createEndpoint', { body, idempotencyKey: visit.form['key'] });
  return {
    title: 'Endpoint registered',
    main: html`${secretOnce(secret)}
      <p class="actions"><a class="button primary" href="${path('endpoints', id)}">To the endpoint</a></p>`,
  };
}

async function newForm(visit: Visit, values: Values, refused?: AppError): Promise<Sight> {
  checkAccess(visit.caller, 'change');
  const { sources } = await visit.call('listSources');
  return {
    title: 'Register an endpoint',
    main: html`${refusal(refused, LABELS_OF_REQUEST)}
      <form method="post" action="/endpoints/new" class="panel form">
        ${csrfField(visit)} <input type="hidden" name="key" value="${newId()}" />
        ${settingFields(values, { sources: sources.map(({ name }) => name) })} ${headerArea(visit)}
        <p>The signing secret is made now and shown once, on the next page.</p>
        <div class="actions">
          <button class="primary">Register</button> <a class="button" href="/endpoints">Back</a>
        </div>
      </form>`,
  };
}

const headerArea = ({ form }: Visit, hint = ''): SafeHtml =>
  area({
    name: 'headers',
    label: 'Headers of its own',
    value: form['headers'],
    placeholder: 'authorization: Bearer ...',
    hint: `One a line, name: value. They are stored encrypted and their values are shown nowhere. ${hint}`,
  });

/** The settings as they were when the form was opened, so that what nobody touched is not written back. */
const Base = z.partialRecord(z.enum(SETTING_NAMES), z.string());

function baseOf({ form }: Visit): Partial<Values> {
  try {
    return Base.parse(JSON.parse(form['base'] ?? ''));
  } catch {
    throw new AppError('request_invalid', 'The form is not complete. Open it again.');
  }
}

/** Which member of the request a field belongs to. */
const memberOf = (name: SettingName): string =>
  ({ timeout: 'timeoutMs', schedule: 'scheduleMs', perSecond: 'rateLimit', burst: 'rateLimit' })[
    name as string
  ] ?? name;

async function save(visit: Visit): Promise<Sight> {
  const { form } = visit;
  const [values, base] = [filledIn(visit), baseOf(visit)];
  const touched = new Set(SETTING_NAMES.filter((name) => values[name] !== base[name]).map(memberOf));
  const { settings, mistakes } = settingsOf(values);
  const { headers, mistakes: ofHeaders } = headersOf(form['headers'] ?? '');
  const dropped = visit.fields.getAll('drop').filter((name) => !Object.hasOwn(headers, name));
  const allHeaders = { ...Object.fromEntries(dropped.map((name) => [name, null])), ...headers };
  const patch = {
    ...Object.fromEntries(Object.entries(settings).filter(([member]) => touched.has(member))),
    ...(Object.keys(allHeaders).length > 0 && { headers: allHeaders }),
  };
  const body = judgeForm(EndpointPatch, patch, [
    ...mistakes.filter(({ path: member }) => touched.has(member)),
    ...ofHeaders,
  ]);
  const ifVersion = Number(form['version']);
  if (!Number.isSafeInteger(ifVersion) || ifVersion < 1)
    throw new AppError('request_invalid', 'The form is not complete. Open it again.');
  const reason = form['reason']?.trim();
  const { version } = await visit.call('updateEndpoint', {
    params: { id: idOf(visit) },
    body,
    ifVersion,
    ...(reason && { query: { reason } }),
  });
  return {
    goTo: path('endpoints', idOf(visit)),
    notice: version === ifVersion ? 'nothing_changed' : 'endpoint_saved',
  };
}

async function editForm(visit: Visit, refused?: AppError): Promise<Sight> {
  checkAccess(visit.caller, 'change');
  const [endpoint, { sources }] = await Promise.all([endpointOf(visit), visit.call('listSources')]);
  const stored = valuesOf(endpoint);
  const shown = refused ? filledInOver(stored, visit) : { values: stored, theirs: html`` };
  const fromOther = refused?.code === 'version_conflict';
  // After a mistake the form is still for the version it was made for: what others did since is then said when it is sent.
  const made =
    refused && !fromOther ? visit.form : { base: JSON.stringify(stored), version: `${endpoint.version}` };
  return {
    title: 'Change an endpoint',
    main: html`${whichEndpoint(endpoint)} ${fromOther ? shown.theirs : refusal(refused, LABELS_OF_REQUEST)}
      <form method="post" action="${path('endpoints', endpoint.id, 'edit')}" class="panel form">
        ${csrfField(visit)} <input type="hidden" name="version" value="${made['version'] ?? ''}" />
        <input type="hidden" name="base" value="${made['base'] ?? ''}" />
        ${settingFields(refused && !fromOther ? filledIn(visit) : shown.values, { sources: sources.map(({ name }) => name), reference: endpoint.reference })}
        ${headerArea(visit, 'One that exists already gets the new value.')} ${dropTicks(endpoint, visit)}
        ${reasonField(visit, { optional: true })}
        <p>
          <small
            >URL, headers, body, timeout and limits count from the next attempt on; a schedule for waits after
            attempts that end from now on; types, sources and reference for events that are accepted from now
            on.</small
          >
        </p>
        <div class="actions">
          <button class="primary">Save</button>
          <a class="button" href="${path('endpoints', endpoint.id)}">Back</a>
        </div>
      </form>`,
  };
}

/**
 * Somebody else was faster: what this person touched stays as it was filled in, the rest becomes what is stored now, and each
 * difference is said, so that whoever saves again knows what that replaces.
 */
function filledInOver(stored: Values, visit: Visit): { values: Values; theirs: SafeHtml } {
  const [filled, base] = [filledIn(visit), baseOf(visit)];
  const untouched = SETTING_NAMES.filter((name) => filled[name] === base[name]);
  const values = { ...filled, ...Object.fromEntries(untouched.map((name) => [name, stored[name]])) };
  const changed = SETTING_NAMES.filter((name) => stored[name] !== base[name]);
  return {
    values,
    theirs: html`<div class="error" role="alert">
      <p>
        Somebody else changed this endpoint after you opened the form. Nothing of yours is saved yet; what you
        filled in is kept below. Look at it and save again.
      </p>
      ${when(
        changed.length > 0,
        html`<ul>
          ${changed.map(
            (name) =>
              html`<li>
                ${LABELS[name]} is now
                ${stored[name] === '' ? 'empty' : code(stored[name].replaceAll('\n', ', '))}:
                ${values[name] === stored[name] ? 'taken over below.' : 'saving replaces it with what you filled in.'}
              </li>`,
          )}
        </ul>`,
      )}
    </div>`,
  };
}

function dropTicks({ headers }: Endpoint, { fields }: Visit): SafeHtml {
  const names = Object.keys(headers);
  const ticked = new Set(fields.getAll('drop'));
  return html`${when(
    names.length > 0,
    html`<fieldset>
      <legend>Headers that it has</legend>
      ${names.map((name) => tick('drop', html`Remove ${code(name)}`, { value: name, on: ticked.has(name) }))}
    </fieldset>`,
  )}`;
}
