import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

const read = (name: string): string => readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');

export type ScriptReply = string | number | null | readonly ScriptReply[];

export interface Script {
  /** Runs on one connection. A reply that was lost is asked for again by ioredis, so scripts find their own earlier work. */
  readonly run: (
    redis: Redis,
    keys: readonly string[],
    args: readonly (string | number)[],
  ) => Promise<ScriptReply[]>;
}

/** The record, the gates that use it, and what moves the gates. */
const PRELUDE = ['prelude', 'gates', 'breaker', 'pauses'];

export interface ScriptParts {
  /** It is a script of the delivery record: the shared prelude goes in front. */
  readonly prelude: boolean;
  /** Further files, between the two. */
  readonly and?: readonly string[];
}

/** What Redis is given: `lua/<name>.lua` behind whatever it shares with others. */
export const scriptText = (name: string, { prelude, and = [] }: ScriptParts): string =>
  [...(prelude ? PRELUDE : []), ...and, name].map(read).join('\n');

/** Binds `lua/<name>.lua`. */
export function loadScript(name: string, parts: ScriptParts): Script {
  const lua = scriptText(name, parts);
  const sha = createHash('sha1').update(lua).digest('hex');
  return {
    async run(redis, keys, args) {
      let reply: unknown;
      try {
        reply = await redis.evalsha(sha, keys.length, ...keys, ...args);
      } catch (error) {
        // A restarted Redis has an empty script cache.
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
        reply = await redis.eval(lua, keys.length, ...keys, ...args);
      }
      return (Array.isArray(reply) ? reply : [reply]) as ScriptReply[];
    },
  };
}
