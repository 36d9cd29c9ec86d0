import { z } from 'zod';
import { PRESET_NAMES, PRESETS } from './presets/all.ts';
import type { Preset } from './presets/preset.ts';

const known = new Map<string, Preset>(Object.entries(PRESETS));

/** Names that `preset:` takes. */
export const PresetName = z.enum(PRESET_NAMES);

/** What is not confirmed about a preset's provider; empty where everything is, or there is no preset. */
export const unverifiedFacts = (name: string | undefined): readonly string[] =>
  (name === undefined ? undefined : known.get(name)?.unverified) ?? [];

/** Settings that are merged member by member; of all others the source's own replaces the preset's. */
const MERGED = new Set(['request', 'answers', 'values', 'batch', 'parse']);

/** A source as written, completed by its preset's data. Anything that is not a source with a preset stays as it is. */
export function applyPreset(written: unknown): unknown {
  if (!isRecord(written) || typeof written['preset'] !== 'string') return written;
  const preset = known.get(written['preset']);
  if (!preset) return written;
  const merged: Record<string, unknown> = { ...preset.source, ...written };
  for (const setting of MERGED) {
    const ours: unknown = Reflect.get(preset.source, setting);
    const own = written[setting];
    if (isRecord(ours) && isRecord(own)) merged[setting] = { ...ours, ...own };
  }
  return merged;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
