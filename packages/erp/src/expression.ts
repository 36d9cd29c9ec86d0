import { describeTrouble, troubleCode } from '@breakwater/contracts/expression-syntax';
import { AppError } from '@breakwater/runtime/errors';
import jsonata from 'jsonata';
import { plainJson } from './json.ts';

/** What an expression gave, or one sentence on why it gave nothing usable. Never thrown. */
export type Evaluated<T = unknown> = { readonly ok: true; readonly value: T } | MappingError;
export interface MappingError {
  readonly ok: false;
  readonly message: string;
}

/** Messages end up in attempt rows, and JSONata quotes values in some of them. */
const MAX_MESSAGE_LENGTH = 300;

/** A remedy follows the message when it is shown, so it ends like a sentence. */
export function mappingError(message: string): MappingError {
  const text = message.slice(0, MAX_MESSAGE_LENGTH - 1);
  return { ok: false, message: /[.!?]$/.test(text) ? text : `${text}.` };
}

export interface Expression {
  /** The plain JSON result over `input`; `undefined` where the expression finds nothing. */
  readonly evaluate: (input: object) => Promise<Evaluated>;
}

/**
 * Bounds of one evaluation (JSONata 2.2's own guards: D1012, D1011, D2015). The language can loop for ever, and since
 * an evaluation never waits for I/O it holds the event loop, so the time must stay far below a lease. Nested steps and
 * items of a list: far more than a document has levels and lines.
 * Not bounded: a regular expression that backtracks without end, so write none over text of strangers.
 */
const LIMITS = { timeout: 1_000, stack: 500, sequence: 100_000 };
const TIMED_OUT = 'D1012';

/** Compiles expressions once and collects every mistake, so that a person corrects a configuration in one go. */
export interface Compiler {
  /** `path` is the place in the target's configuration, such as `adapter.post.path`. */
  readonly compile: (path: string, source: string) => Expression;
  readonly mistake: (path: string, message: string) => void;
  /** Throws AppError config_invalid with all mistakes (also in `details.mistakes`) when there are any. */
  readonly finish: () => void;
}

export function createCompiler(): Compiler {
  const mistakes: string[] = [];
  const mistake: Compiler['mistake'] = (path, message) => void mistakes.push(`${path}: ${message}`);
  return {
    mistake,
    compile(path, source) {
      try {
        return bounded(path, jsonata(source, LIMITS));
      } catch (error) {
        const message = `no valid JSONata${describeTrouble(error)}`;
        mistake(path, message);
        return { evaluate: async () => mappingError(`${path}: ${message}`) };
      }
    },
    finish() {
      if (mistakes.length > 0)
        throw new AppError('config_invalid', mistakes.join('\n'), { details: { mistakes } });
    },
  };
}

function bounded(path: string, compiled: jsonata.Expression): Expression {
  const evaluate = async (input: object): Promise<Evaluated> => {
    const value: unknown = await compiled.evaluate(input);
    return { ok: true, value: value === undefined ? undefined : plainJson(value) };
  };
  return {
    async evaluate(input) {
      try {
        // The guard reads the wall clock, so a process that was stopped meanwhile looks like an endless expression, and
        // a mapping error is final. Only an expression that is endless fails twice.
        return await evaluate(input).catch(async (error: unknown) => {
          if (troubleCode(error) !== TIMED_OUT) throw error;
          return await evaluate(input);
        });
      } catch (error) {
        return mappingError(`${path}${describeTrouble(error)}`);
      }
    },
  };
}
