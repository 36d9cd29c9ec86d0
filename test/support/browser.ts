import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { debianTool } from './debian-tools.ts';
import { testUnless } from './test-unless.ts';

/** Pictures of every page, for whoever wants to look; made anew by each run. */
export const SCREENSHOTS = join(import.meta.dirname, '../../test-output/screenshots');

const tool = debianTool('chromium');

/** A test that needs a browser; skipped, with the reason, where none can be had. */
export const browserTest = testUnless('reason' in tool ? tool.reason : undefined);
export const hasBrowser = 'path' in tool;

/** It must run as root, in containers and without a network, and ask nobody outside for anything by itself. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage', // /dev/shm of a container is small
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Guards against hanging only: two slow cores under load take their time. */
const DEADLINE_MS = 60_000;

/** The browser of this machine, without a window, with a profile that is gone afterwards. */
export function openBrowser(): Promise<Browser> {
  if ('reason' in tool) throw new Error(tool.reason);
  return chromium.launch({ executablePath: tool.path, args: FLAGS, timeout: 2 * DEADLINE_MS });
}

export interface Tab {
  readonly page: Page;
  /**
   * What no page of ours may ever cause: a dialog, an error or a warning (a refusal of the content security policy among
   * them), a request to another origin.
   */
  readonly troubles: string[];
}

/** A tab in a session of its own: no cookie, no cache of another test. */
export async function openTab(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Tab> {
  const context = await browser.newContext({ baseURL: origin, ...options });
  context.setDefaultTimeout(DEADLINE_MS);
  context.setDefaultNavigationTimeout(DEADLINE_MS);
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on('dialog', (dialog) => {
    troubles.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => troubles.push(`a script failed: ${error.message}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) troubles.push(`${message.type()}: ${message.text()}`);
  });
  context.on('request', (request) => {
    const { origin: of, protocol } = new URL(request.url());
    if (of !== origin && protocol !== 'data:') troubles.push(`a request to ${request.url()}`);
  });
  return { page, troubles };
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** How much wider than the window the page is: what one would have to scroll sideways to see. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
