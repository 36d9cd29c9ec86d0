/** Text as one word of a shell. Event ids and references are a stranger's free text. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_.:@/=+-]+$/.test(text) && !text.startsWith('-')
    ? text
    : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A command line that acts as the operator whose record it is about. */
export const command = (operator: string, ...words: readonly string[]): string =>
  [
    'breakwater',
    ...(operator === 'default' || operator === '' ? [] : ['--operator', operator]),
    ...words,
  ].join(' ');

interface Whose {
  readonly operator: string;
  readonly delivery: string;
}

export const showStep = ({ operator, delivery }: Whose): string =>
  command(operator, 'deliveries show', delivery);

export const replayStep = ({ operator, delivery }: Whose, wasSent = false): string =>
  command(
    operator,
    'deliveries replay',
    delivery,
    '--reason "reconciliation"',
    ...(wasSent ? ['--acknowledge-duplicates'] : []),
  );

export const resolveStep = ({ operator, delivery }: Whose): string =>
  command(operator, 'dead-letters resolve', delivery, '--reason "settled by hand"');

/** For one whose document is at the ERP. */
export const postedStep = (whose: Whose): string => `${resolveStep(whose)} --posted`;

export const fanOutStep = (operator: string, source: string, eventId?: string): string =>
  command(
    operator,
    'events fan-out --source',
    source,
    ...(eventId === undefined ? [] : ['--event', shellWord(eventId)]),
  );
