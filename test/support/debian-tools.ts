import { join } from 'node:path';
import { installWithApt } from '@breakwater/local-stack/apt';
import { directoriesOf, isExecutable } from '@breakwater/local-stack/machine';

/** Programs that tests run for real, and the Debian packages that bring them. */
const PACKAGES = {
  promtool: 'prometheus',
  prometheus: 'prometheus',
  amtool: 'prometheus-alertmanager',
  'prometheus-alertmanager': 'prometheus-alertmanager',
  chromium: 'chromium',
} as const;
export type ToolName = keyof typeof PACKAGES;

/** What the same program is called where Debian's package is not the one that brought it. */
const OTHER_NAMES: Partial<Record<ToolName, readonly string[]>> = {
  chromium: ['chromium-browser', 'google-chrome'],
};

export type Tool = { readonly path: string } | { readonly reason: string };

/** Finds a program on the PATH. `reason` says why a test cannot run without it. */
export function debianTool(name: ToolName): Tool {
  const path = [name, ...(OTHER_NAMES[name] ?? [])]
    .flatMap((each) => directoriesOf(process).map((directory) => join(directory, each)))
    .find((candidate) => isExecutable(candidate));
  return path ? { path } : { reason: `${name} is missing: sudo apt-get install ${PACKAGES[name]}` };
}

/** Installs what is missing where that needs no password. Tests that still miss something are skipped and say so. */
export function installDebianTools(say: (line: string) => void): void {
  const missing = Object.entries(PACKAGES).flatMap(([name, deb]) =>
    'reason' in debianTool(name as ToolName) ? [deb] : [],
  );
  for (const deb of new Set(missing)) {
    const failure = installWithApt(process, deb, say);
    if (failure !== undefined) say(failure);
  }
}
