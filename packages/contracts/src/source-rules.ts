import type { z } from 'zod';
import { MAX_SECRETS } from './source-check.ts';
import { hashesOf, signatureMistakes } from './source-check-rules.ts';
import { type Coverage, coverageOf, coversDocument, isSigned, signatureChecks } from './source-coverage.ts';
import type { SourceShape } from './source-config.ts';
import { type Expression, isOfItem, partsOf } from './source-parts.ts';

type Report = (path: (string | number)[], message: string) => void;

/** What no single setting can say about itself. Each message says what to do; all of them are listed at once. */
export function checkSource(source: SourceShape, context: Pick<z.core.$RefinementCtx, 'addIssue'>): void {
  const report: Report = (path, message) => context.addIssue({ code: 'custom', path, message });
  if (source.auth === undefined) report(['auth'], 'say how requests are verified, or name a preset');
  if (source.eventId === undefined)
    report(['eventId'], 'say where the event id is, or name a preset that does');
  const coverage = coverageOf(source);
  for (const [index, check] of coverage.checks.entries()) {
    if (check.kind !== 'signature') continue;
    for (const mistake of signatureMistakes(check)) report(['auth', index], mistake);
  }
  checkSecrets(source, coverage, report);
  checkWork(source, coverage, report);
  checkTokens(source, report);
  checkCoverage(source, coverage, report);
  checkIds(source, coverage, report);
  checkReplay(source, coverage, report);
  checkParsing(source, report);
  checkBatch(source, report);
  checkUrls(source, coverage, report);
}

function checkSecrets(source: SourceShape, { checks }: Coverage, report: Report): void {
  const needed = checks.filter((check) => check.kind !== 'queryEquals');
  if (needed.length > 0 && source.secrets.length === 0)
    report(['secrets'], 'add at least one secret: without one nothing can be verified');
  const ids = source.secrets.map(({ id }) => id);
  for (const [index, id] of ids.entries()) {
    if (ids.indexOf(id) !== index) report(['secrets', index, 'id'], `two secrets are called ${id}`);
  }
  for (const check of needed) {
    const used = check.secrets ?? ids;
    for (const id of used) {
      if (!ids.includes(id)) report(['auth'], `no secret is called ${id}`);
    }
    const selects = check.kind === 'signature' && check.keyId !== undefined;
    if (!selects && used.length > MAX_SECRETS)
      report(
        ['secrets'],
        `at most ${MAX_SECRETS} secrets, because each costs a hash per request; name some in the check's secrets`,
      );
  }
}

/**
 * Bytes that verifying one request may hash. Strangers cause it, and no other request is answered meanwhile: 0.2 s where the
 * processor hashes 1.5 GB/s, as most do. Ten secrets for the largest body fit.
 */
const MAX_HASHED_BYTES = 256 * 1024 * 1024;

function checkWork({ maxBodyBytes, secrets }: SourceShape, { checks }: Coverage, report: Report): void {
  const hashes = signatureChecks(checks)
    .map((check) => hashesOf(check, check.secrets?.length ?? secrets.length))
    .reduce((sum, each) => sum + each, 0);
  if (hashes * maxBodyBytes <= MAX_HASHED_BYTES) return;
  const most = Math.floor(MAX_HASHED_BYTES / hashes);
  report(
    ['maxBodyBytes'],
    `a body would be hashed up to ${hashes} times (checks, secrets, variants), which makes a stranger's request expensive: lower it to ${most}, or use fewer of those`,
  );
}

function checkTokens(source: SourceShape, report: Report): void {
  for (const { token } of source.challenges) {
    if (token?.config !== undefined && (source.values[token.config] ?? '') === '')
      report(['values'], `a challenge needs the token ${token.config}: add it to values`);
  }
}

function checkCoverage(source: SourceShape, coverage: Coverage, report: Report): void {
  for (const check of signatureChecks(coverage.checks)) {
    if (coverage.perItem) {
      if (!check.signed.every((parts) => parts.some((part) => typeof part === 'object' && 'pointer' in part)))
        report(['auth'], 'a signature of one item must sign values of it: add pointers to signed');
    } else if (!coversDocument(check, coverage)) {
      report(['auth'], 'signed must contain body, or anybody could change the payload');
    }
    for (const part of check.signed.flat()) {
      if (typeof part === 'object' && 'config' in part && !Object.hasOwn(source.values, part.config))
        report(['values'], `signed names ${part.config}, so add it to values`);
    }
  }
  if (coverage.checks.length > 0 && coverage.checks.every((check) => check.kind === 'queryEquals'))
    report(['auth'], 'queryEquals alone proves nothing: add a signature of the URL');
  // Checks with a condition must come in pairs, or a request that meets none of them would go unverified.
  const conditional = coverage.checks.flatMap((check) =>
    check.kind === 'signature' && check.when !== undefined ? [check.when] : [],
  );
  for (const when of conditional) {
    if (!conditional.some((other) => other.query === when.query && other.present !== when.present))
      report(
        ['auth'],
        `a signature is checked only when query ${when.query} is ${when.present ? 'there' : 'absent'}: add one for the other case`,
      );
  }
}

/** Names of what changes from attempt to attempt; an id with one of them in it never matches a retry. */
const PER_ATTEMPT = /attempt|retry|redeliver/i;

function checkIds(source: SourceShape, coverage: Coverage, report: Report): void {
  const clocks = signatureChecks(coverage.checks).flatMap(({ timestamp, signature }) => [
    timestamp?.header,
    timestamp?.pointer,
    signature.header,
    signature.pointer,
  ]);
  for (const [index, expression] of (source.eventId ?? []).entries()) {
    for (const place of placesOf(expression)) {
      if (PER_ATTEMPT.test(place) || clocks.includes(place))
        report(
          ['eventId', index],
          `${place} changes with every attempt, so a retry would be a new event: name only what stays`,
        );
    }
  }
  if (source.eventIdSigned === true) {
    for (const [index, expression] of (source.eventId ?? []).entries()) {
      if (!isSigned(expression, coverage))
        report(
          ['eventId', index],
          'this is not part of the signed content: remove eventIdSigned, or take the id from what is signed',
        );
    }
  }
}

function placesOf(expression: Expression): string[] {
  return partsOf(expression).flatMap((part) => {
    if (typeof part !== 'object') return [];
    if ('header' in part) return [part.header];
    return 'pointer' in part ? [part.pointer] : [];
  });
}

function checkReplay(source: SourceShape, coverage: Coverage, report: Report): void {
  const signatures = signatureChecks(coverage.checks);
  const everyWaySigns =
    signatures.length > 0 &&
    (coverage.mode === 'all' || coverage.checks.every(({ kind }) => kind === 'signature'));
  if (source.replayKey === 'signature' && !everyWaySigns)
    report(['replayKey'], 'a request may pass without a signature here, so choose body or none');
  if (source.dedupe.policy === 'coalesce') {
    if (source.replayKey !== undefined && source.replayKey !== 'none')
      report(
        ['replayKey'],
        'notifications that are merged are alike, so a replay key would refuse the next change: choose none',
      );
    return;
  }
  if (source.replayKey !== undefined) return;
  if (source.eventId && !everyWaySigns && source.eventIdSigned !== true)
    report(
      ['replayKey'],
      'nothing signs the event id: choose body (one body is one event), or none and accept that whoever holds a secret or a captured request can make events',
    );
  else if (
    (source.dedupe.policy === 'none' || source.onMissingId === 'undeduped') &&
    !signatures.every(({ timestamp }) => timestamp !== undefined)
  )
    report(
      ['replayKey'],
      'without dedupe and a signed timestamp a captured request is a new event each time: choose signature or body (it passes once), or none',
    );
}

function checkParsing(source: SourceShape, report: Report): void {
  const { format, formField } = source.parse;
  if (formField !== undefined && format !== 'form')
    report(['parse', 'formField'], 'formField belongs to format form');
  const opaque = format === 'text' || format === 'none';
  if (format === 'xml') checkXml(source, report);
  const all = { eventId: source.eventId, type: source.type, entity: source.entity };
  for (const [setting, list] of Object.entries(all)) {
    if (opaque && list?.some((expression) => placesOf(expression).some((place) => place.startsWith('/'))))
      report(
        [setting],
        `nothing is read from a body of format ${format}: use headers or a sha256 of the body`,
      );
  }
  if ((opaque || format === 'xml') && source.batch)
    report(['batch'], `a body of format ${format} has no items that could be taken apart`);
  if (source.request.encodings.length > 0 && source.request.signedBytes === undefined)
    report(
      ['request', 'signedBytes'],
      'say whether the provider signs the compressed bytes (received) or what is in them (decoded)',
    );
}

/** Reading XML costs more than hashing it, so it is read of those alone who know a secret. */
function checkXml({ auth, challenges, pings }: SourceShape, report: Report): void {
  for (const [index, check] of (auth ?? []).entries()) {
    const places =
      check.kind === 'signature' ? [check.signature, check.timestamp ?? {}, ...check.signed.flat()] : [];
    if (
      places.some((place) => typeof place === 'object' && 'pointer' in place && place.pointer !== undefined)
    )
      report(
        ['auth', index],
        'XML is read of verified requests only: take signature and timestamp from headers',
      );
  }
  for (const [setting, list] of Object.entries({ challenges, pings })) {
    for (const [index, { when, verified }] of list.entries())
      if (when.pointer !== undefined && !verified)
        report(
          [setting, index, 'when'],
          'XML is read of verified requests only: set verified, or look at headers',
        );
  }
}

function checkBatch(source: SourceShape, report: Report): void {
  const { batch } = source;
  for (const setting of ['eventId', 'type', 'entity'] as const) {
    const scoped = (source[setting] ?? [])
      .flatMap(partsOf)
      .some((part) => typeof part === 'object' && 'in' in part);
    if (!batch && scoped) report([setting], 'in says where in a batch to look, and this source has no batch');
  }
  if (!batch) return;
  if (batch.signature === 'perItem' && batch.empty === 'ack')
    report(['batch', 'empty'], 'without items nothing was verified: choose reject');
  if (batch.signature === 'perItem' && batch.contentTypes)
    report(
      ['batch', 'contentTypes'],
      'the sender chooses the content type, so it cannot decide what is signed',
    );
  if (batch.nested && batch.item !== '')
    report(['batch', 'item'], 'item and nested both say where items are: choose one');
  if (source.parse.format === 'form' && source.parse.formField === undefined)
    report(['batch'], 'the fields of a form are no list: name the field that holds one in parse.formField');
  const ids = source.eventId ?? [];
  for (const [index, expression] of ids.entries()) {
    // Headers are passed over in a batch where other deliveries are single events.
    if (!isOfItem(expression) && (batch.contentTypes === undefined || !ids.some(isOfItem)))
      report(['eventId', index], 'the items of a batch share their headers: take the id from the item');
  }
}

function checkUrls(source: SourceShape, { checks }: Coverage, report: Report): void {
  const urls = new Set(
    checks.flatMap((check) =>
      check.kind === 'signature'
        ? check.signed.flat().flatMap((part) => (typeof part === 'object' && 'url' in part ? [part.url] : []))
        : [],
    ),
  );
  const { publicUrl } = source.request;
  if (urls.size > 0 && publicUrl === undefined)
    report(['request', 'publicUrl'], 'the URL is signed, so say what it is: exactly as the provider has it');
  if (
    publicUrl !== undefined &&
    /[?#]/.test(publicUrl) &&
    (urls.has('requested') || urls.has('requestedWithPort'))
  )
    report(['request', 'publicUrl'], 'leave the query out: it is taken from each request');
  if (publicUrl?.includes('#')) report(['request', 'publicUrl'], 'a fragment is never sent: remove it');
}
