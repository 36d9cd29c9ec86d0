import type { ErpTarget } from '@breakwater/contracts/target-config';
import { type Evaluated, type MappingError, createCompiler, mappingError } from './expression.ts';
import { kindOf, parseJson } from './json.ts';

/** An event as expressions see it: its members are the root of `document` and `reference`. */
export interface MappingInput {
  readonly eventId: string;
  readonly type: string;
  readonly source: string;
  readonly operator: string;
  readonly entity: string;
  /** ISO 8601, UTC. Prefer it to `$now()`: every attempt then maps to the same document. */
  readonly receivedAt: string;
  /** The body as JSON (see `toMappingInput` for large numbers); undefined where it is none. */
  readonly data: unknown;
  /** The body as text. */
  readonly text: string;
  /** The body is JSON, but nested too deeply to be read exactly. */
  readonly tooDeep?: true;
}

export interface Mapping {
  /**
   * The document to post, plain JSON. `reference` is the one on record for this delivery; expressions read it as
   * `reference`. Give it always: recomputed after a change of configuration it would be another one, and a look-up for
   * the recorded one would miss what was posted. Without it (before fan-out, in checks) the mapping's own is taken.
   */
  readonly document: (input: MappingInput, reference?: string) => Promise<Evaluated>;
  /** What identifies the event at the ERP: the configured expression, else the event id. 1 to 512 characters. */
  readonly reference: (input: MappingInput) => Promise<Evaluated<string>>;
}

/** ERPs keep references in a column, and it becomes a header: longer is a mapping that caught the wrong member. */
const MAX_REFERENCE_LENGTH = 512;

/**
 * Compiles a target's `document` and `reference`.
 * Throws AppError config_invalid that names each expression with the position of its syntax error.
 * Errors of evaluation are values: they are final for the event as it is, and say what to correct.
 */
export function createMapping(target: Pick<ErpTarget, 'document' | 'reference'>): Mapping {
  const compiler = createCompiler();
  const toDocument = compiler.compile('document', target.document);
  const toReference =
    target.reference === undefined ? undefined : compiler.compile('reference', target.reference);
  compiler.finish();

  const reference: Mapping['reference'] = async (input) => {
    const result: Evaluated = toReference
      ? await toReference.evaluate(input)
      : { ok: true, value: input.eventId };
    return result.ok ? checkReference(result.value) : result;
  };
  return {
    reference,
    async document(input, recorded) {
      if (input.tooDeep) return TOO_DEEP;
      const known: Evaluated<string> =
        recorded === undefined ? await reference(input) : { ok: true, value: recorded };
      if (!known.ok) return known;
      const result = await toDocument.evaluate({ ...input, reference: known.value });
      if (!result.ok || (result.value !== undefined && result.value !== null)) return result;
      return mappingError(
        `document: the expression gave ${kindOf(result.value)}, so there is nothing to post`,
      );
    },
  };
}

const badReference = (message: string): MappingError => mappingError(`reference: ${message}`);

const TOO_DEEP = {
  ok: false,
  message: 'document: the body is nested too deeply to be read exactly',
} as const;

function checkReference(value: unknown): Evaluated<string> {
  if (typeof value !== 'string')
    return badReference(`expected text, got ${kindOf(value)}: use $string() where it is a number`);
  if (value.trim() === '') return badReference('expected text, got an empty one');
  if (value.length > MAX_REFERENCE_LENGTH) {
    return badReference(`expected at most ${MAX_REFERENCE_LENGTH} characters, got ${value.length}`);
  }
  return { ok: true, value };
}

/**
 * Makes the input of the expressions from an event. `receivedAt` is ms since the epoch, `text` the body. In `data`,
 * numbers beyond 2^53 are text, exactly as written, since JavaScript's numbers would round them (see json.ts); decimals
 * keep about 15 significant digits.
 */
export function toMappingInput(
  event: Omit<MappingInput, 'data' | 'receivedAt'> & { readonly receivedAt: number },
): MappingInput {
  const { eventId, type, source, operator, entity, text } = event;
  const receivedAt = new Date(event.receivedAt).toISOString();
  const input = { eventId, type, source, operator, entity, receivedAt, text };
  try {
    return { ...input, data: parseJson(text) };
  } catch {
    return { ...input, data: undefined, tooDeep: true };
  }
}
