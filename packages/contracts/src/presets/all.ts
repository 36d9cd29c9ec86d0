import { github } from './github.ts';
import type { Preset } from './preset.ts';

export const PRESET_NAMES = ['github'] as const;

/** Every preset by its name in `preset:`. */
export const PRESETS: Readonly<Record<(typeof PRESET_NAMES)[number], Preset>> = { github };
