import { NewToken, TOKEN_TTL } from '@breakwater/contracts/access-token';
import { parseDurationMs, writeDuration } from '@breakwater/contracts/duration';
import { newId } from '@breakwater/contracts/ids';
import { AppError } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import { checkAccess } from '../../caller.ts';
import { choice, csrfField, field, reasonField, tick } from '../forms.ts';
import type { Answer, Page, Sight, Visit } from '../page.ts';
import { code, facts, foreign, path, table, time, when } from '../parts.ts';
import { judgeForm, refusal, tryForm } from '../refusal.ts';

type Token = Answer<'listTokens'>['tokens'][number];

/** For administrators: the calls refuse everybody else, and so does the form that makes none. */
export const tokensPages: readonly Page[] = [
  {
    method: 'get',
    path: '/tokens',
    async show(visit) {
      const { tokens } = await visit.call('listTokens');
      return {
        title: 'Tokens',
        main: html`<p><a class="button primary" href="/tokens/new">Make a token</a></p>
          ${tokenTable(tokens.toReversed(), visit.now)}`,
      };
    },
  },
  { method: 'get', path: '/tokens/new', show: (visit) => newForm(visit) },
  {
    method: 'post',
    path: '/tokens/new',
    show: (visit) =>
      tryForm(
        () => make(visit),
        (refused) => newForm(visit, refused),
      ),
  },
  { method: 'get', path: '/tokens/:id/revoke', show: (visit) => askToRevoke(visit) },
  {
    method: 'post',
    path: '/tokens/:id/revoke',
    show: (visit) =>
      tryForm(
        () => revoke(visit),
        (refused) => askToRevoke(visit, refused),
      ),
  },
];

const STATE_COLOURS = { active: 'sent', expired: 'held', revoked: 'failed' } as const;
const stateOf = ({ state }: Token): SafeHtml =>
  html`<span class="status" data-status="${STATE_COLOURS[state]}">${state}</span>`;

const expiry = ({ expiresAt, state }: Token, now: number): SafeHtml | string => {
  if (state === 'revoked') return 'revoked';
  return expiresAt === null ? 'never' : time(expiresAt, now);
};
const lastUse = ({ lastUsedAt }: Token, now: number): SafeHtml | string =>
  lastUsedAt === null ? 'never' : time(lastUsedAt, now);

const tokenTable = (tokens: readonly Token[], now: number): SafeHtml =>
  table(
    'Tokens, newest first',
    [
      {
        title: 'Name',
        cell: ({ name, id }) =>
          html`<div class="wide">${foreign(name)}<br /><small>${code(id)}</small></div>`,
      },
      { title: 'Scope', cell: ({ scope }) => code(scope) },
      { title: 'State', cell: stateOf },
      { title: 'Expires', cell: (token) => expiry(token, now) },
      { title: 'Last used', cell: (token) => lastUse(token, now) },
      {
        title: 'Made',
        cell: ({ createdAt, createdBy }) => html`${time(createdAt, now)} ${foreign(createdBy)}`,
      },
      {
        title: 'What to do',
        cell: ({ id, name, state }) =>
          when(
            state === 'active',
            html`<a href="${path('tokens', id, 'revoke')}"
              >Revoke<span class="unseen"> ${foreign(name)}</span></a
            >`,
          ),
      },
    ],
    tokens,
    "No token is made yet. The administrator's token of the configuration is not in this list.",
  );

const ROLES = [
  ['read', 'read: looks at things and changes nothing'],
  ['operator', "operator: reads and changes one operator's things"],
  ['publish', 'publish: publishes events as an operator, and nothing else'],
  ['admin', 'admin: everything, of every operator, and tokens'],
] as const;

const LABELS = { name: 'Name', scope: 'What it may do', expiresInMs: 'Expires in' };

async function newForm(visit: Visit, refused?: AppError): Promise<Sight> {
  checkAccess(visit.caller, 'admin');
  const { form } = visit;
  return {
    title: 'Make a token',
    main: html`${refusal(refused, LABELS)}
      <form method="post" action="/tokens/new" class="panel form">
        ${csrfField(visit)} <input type="hidden" name="key" value="${newId()}" />
        ${field({ name: 'name', label: LABELS.name, value: form['name'], required: true, maxLength: 100, hint: 'Who or what uses it; shown in the audit log.' })}
        ${choice('role', LABELS.scope, ROLES, form['role'])}
        ${field({ name: 'operator', label: 'Operator', value: form['operator'], maxLength: 63, hint: "Empty: every operator for read, default for publish. An operator's token needs one, an administrator's has none." })}
        ${field({ name: 'expires', label: LABELS.expiresInMs, value: form['expires'] ?? writeDuration(TOKEN_TTL.defaultMs), hint: 'Such as 12h or 90d, at most 3650d.' })}
        ${tick('never', 'It never expires.', { on: form['never'] === 'true' })}
        <p>Its value is shown once, on the next page.</p>
        <div class="actions">
          <button class="primary">Make it</button> <a class="button" href="/tokens">Back</a>
        </div>
      </form>`,
  };
}

async function make(visit: Visit): Promise<Sight> {
  const { name = '', role = '', operator = '', expires = '', never, key } = visit.form;
  const expiresInMs = never === 'true' ? null : parseDurationMs(expires);
  const mistakes =
    expiresInMs === undefined
      ? [{ path: 'expiresInMs', message: 'expected a duration such as 12h or 90d' }]
      : [];
  const scope = operator.trim() === '' ? role : `${role}:${operator.trim()}`;
  const body = judgeForm(NewToken, { name, scope, expiresInMs }, mistakes);
  const made = await visit.call('createToken', { body, idempotencyKey: key });
  return {
    title: 'Token made',
    main: html`<section class="panel" aria-label="The token">
        <p><strong>The token.</strong> It is shown this once and stored nowhere: keep it now.</p>
        <p><code class="once">${made.value}</code></p>
        ${facts([
          ['Name', foreign(made.name)],
          ['Scope', code(made.scope)],
          ['Expires', expiry(made, visit.now)],
          ['Token id', code(made.id)],
        ])}
      </section>
      <p>
        Programs send it as <code>Authorization: Bearer</code> and the token; people sign in here with it.
      </p>
      <p class="actions"><a class="button primary" href="/tokens">To the tokens</a></p>`,
  };
}

async function askToRevoke(visit: Visit, refused?: AppError): Promise<Sight> {
  const id = visit.params['id'] ?? '';
  const { tokens } = await visit.call('listTokens');
  const token = tokens.find((each) => each.id === id);
  if (!token)
    throw new AppError('not_found', 'There is no token with this id.', { remedy: 'See the list of tokens.' });
  return {
    title: 'Revoke a token',
    main: html`${refusal(refused)}
      <form method="post" action="${path('tokens', id, 'revoke')}" class="panel form">
        ${csrfField(visit)}
        ${facts([
          ['Name', foreign(token.name)],
          ['Scope', code(token.scope)],
          ['State', stateOf(token)],
          ['Last used', lastUse(token, visit.now)],
          ['Token id', code(token.id)],
        ])}
        <p>
          Within 5 seconds nothing takes it any more, and whoever is signed in with it is signed out. There is
          no way back.
        </p>
        ${when(
          token.id === visit.caller.id,
          html`<p class="remedy">It is the token that you are signed in with.</p>`,
        )}
        ${reasonField(visit)} ${tick('confirmed', 'I want to revoke this token.', { required: true })}
        <div class="actions">
          <button class="danger">Revoke</button> <a class="button" href="/tokens">Back</a>
        </div>
      </form>`,
  };
}

async function revoke(visit: Visit): Promise<Sight> {
  checkAccess(visit.caller, 'admin');
  const reason = visit.form['reason']?.trim() ?? '';
  // Its form asks for both; a browser that did not look sends neither.
  if (reason === '') throw new AppError('request_invalid', 'Say why: it goes into the audit log.');
  if (visit.form['confirmed'] !== 'true')
    throw new AppError('request_invalid', 'Confirm that it is to be revoked.');
  const { changed } = await visit.call('revokeToken', {
    params: { id: visit.params['id'] ?? '' },
    query: { reason },
  });
  return { goTo: '/tokens', notice: changed ? 'token_revoked' : 'nothing_changed' };
}
