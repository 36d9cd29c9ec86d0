import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PAGES } from '@breakwater/console/ui/ui';
import { QUEUES } from '@breakwater/contracts/jobs';
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import {
  browserTest as testHere,
  hasBrowser,
  openBrowser,
  openTab,
  overflowOf,
  SCREENSHOTS,
  signIn,
  type Tab,
} from '../support/browser.ts';
import { ADMIN_TOKEN } from '../support/console-api.ts';
import { type Examples, seedConsole, withExamples } from '../support/console-seed.ts';
import { type Rig, startRig } from '../support/rig.ts';

/** Every page there is, of the table of pages itself, as a person with a screen reader, a phone or a dark room meets it. */
let rig: Rig;
let browser: Browser;
let tab: Tab;
let examples: Examples;
beforeAll(async () => {
  if (!hasBrowser) return;
  [rig, browser] = await Promise.all([
    startRig({ schedule: '0s', services: ['ingest', 'dispatcher', 'console'] }),
    openBrowser(),
  ]);
  rmSync(SCREENSHOTS, { recursive: true, force: true });
  mkdirSync(SCREENSHOTS, { recursive: true });
  examples = await seedConsole(rig);
  tab = await openTab(browser, rig.consoleUrl);
  await tab.page.clock.install(); // so that parts of pages read themselves again when a test says so
  await signIn(tab.page, ADMIN_TOKEN);
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await rig?.close();
}, 60_000);

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Serious and critical violations, as one line each. */
async function violationsOf(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate<Pick<AxeResults, 'violations'>>(
    `axe.run({ resultTypes: ['violations'], preload: false }).then(({ violations }) => ({ violations }))`,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** In how many rows the parts of the head line stand. */
const headRowsOf = (page: Page): Promise<number> =>
  page.evaluate<number>(`(() => {
    const boxes = [...document.querySelectorAll('body > header > *')].map((each) => each.getBoundingClientRect());
    return boxes.some((one) => boxes.some((other) => one.bottom <= other.top)) ? 2 : 1;
  })()`);

interface Sight {
  readonly name: string;
  readonly path: () => string;
  readonly status: number;
}
const SIGHTS: readonly Sight[] = [
  ...PAGES.filter(({ method }) => method === 'get').map(({ path }) => ({
    name: path,
    path: () => withExamples(path, examples),
    status: 200,
  })),
  { name: '/sign-in', path: () => '/sign-in', status: 200 },
  { name: 'a page that is not there', path: () => '/nowhere', status: 404 },
  { name: 'a filter that is wrong', path: () => '/deliveries?since=yesterday', status: 400 },
  { name: 'a sent delivery', path: () => `/deliveries/${examples['sent delivery']}`, status: 200 },
  { name: 'an unrouted event', path: () => '/events/demo-payments/evt-unrouted?body=true', status: 200 },
  { name: 'a group that is not there', path: () => '/dead-letters/nothing', status: 404 },
  {
    name: 'a body that was refused',
    path: () => `/quarantine/${examples['/quarantine/:']}?body=true`,
    status: 200,
  },
  { name: 'a held delivery', path: () => `/deliveries/${examples['held delivery']}`, status: 200 },
];
const fileOf = (name: string): string => name.replaceAll(/\W+/g, '-').replaceAll(/^-|-$/g, '') || 'overview';

for (const { name, path, status } of SIGHTS) {
  testHere(
    `${name}: everybody can use it, in light and dark, on a screen and on a phone, and it asks nobody else`,
    async () => {
      const { page, troubles } = tab;
      troubles.length = 0;
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.emulateMedia({ colorScheme: 'light' });
      const answer = await page.goto(path());
      expect(answer?.status()).toBe(status);
      await page.evaluate(
        `addEventListener('htmx:beforeRequest', (event) => window.mayAsk || event.preventDefault())`,
      );
      await page.evaluate(AXE);
      const wrong: string[] = [];
      for (const [colorScheme, width, height] of [
        ['light', 1280, 900],
        ['dark', 1280, 900],
        ['light', 360, 740],
        ['dark', 360, 740],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height });
        const violations = await violationsOf(page);
        const overflow = await overflowOf(page);
        if (width === 1280 && (await headRowsOf(page)) > 1) violations.push('the head line has two rows');
        if (overflow > 0) violations.push(`the page is ${overflow} px wider than the window`);
        wrong.push(...violations.map((each) => `${colorScheme}, ${width} px: ${each}`));
        const file = `${fileOf(name)}-${colorScheme}-${width}.png`;
        if (colorScheme === 'light' || width > 360)
          await page.screenshot({ path: join(SCREENSHOTS, file), fullPage: true });
      }
      expect(wrong).toEqual([]);
      await readAgain(page);
      const itself =
        status === 200
          ? []
          : [`error: Failed to load resource: the server responded with a status of ${status}`];
      expect(troubles.filter((each) => !itself.some((known) => each.startsWith(known)))).toEqual([]);
    },
    120_000,
  );
}

/** Lets time pass until every part that reads itself again has done so once, and looks whether it is still there. */
async function readAgain(page: Page): Promise<void> {
  const parts = page.locator('[hx-trigger^=every]');
  const before = await parts.evaluateAll((elements) => elements.map(({ id }) => id));
  if (before.length === 0) return;
  await page.evaluate(`(() => {
    window.mayAsk = true;
    window.readAgain = new Promise((done) => {
      let left = ${before.length};
      addEventListener('htmx:afterSettle', () => (left -= 1) || done());
    });
  })()`);
  await page.clock.fastForward(60_000);
  await page.evaluate('window.readAgain.then(() => 0)');
  expect(await parts.evaluateAll((elements) => elements.map(({ id }) => id))).toEqual(before);
}

testHere(
  'a curve has a place where it is drawn and none without scripts, and one legend until the pointer is over it',
  async () => {
    const { page } = tab;
    await page.goto('/');
    const plots = page.locator('.plot canvas');
    await plots.first().waitFor();
    const legend = page.locator('.u-legend').first();
    expect(await legend.isVisible()).toBe(false);
    await page.locator('.plot').first().hover();
    await legend.waitFor();
    const plain = await openTab(browser, rig.consoleUrl, { javaScriptEnabled: false });
    await signIn(plain.page, ADMIN_TOKEN);
    expect(await plain.page.locator('.curve').count()).toBeGreaterThan(0);
    expect(await plain.page.locator('.curve').first().isVisible()).toBe(false);
    await plain.page.context().close();
  },
  60_000,
);

/** All that bull-board has to press, here, by its words or its picture: to look, to sort, to copy. Its actions are pictures, too. */
const HARMLESS =
  /^(?:Data|Progress|Options|Logs|Error|collapse JSON|expand JSON|\d+ Jobs?|Nothing is consuming this queue|lucide-copy|menu: (?:Sort by|Alphabetical .*|\w+ Jobs))$/;

testHere(
  'the queues are shown to an administrator, by files of ours alone, with nothing to press that would change them',
  async () => {
    const { page, troubles } = await openTab(browser, rig.consoleUrl);
    const dead = examples['/deliveries/:'] ?? '';
    const offered: string[] = [];
    const look = async (name: string): Promise<void> => {
      await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
      offered.push(
        ...(await page.evaluate<
          string[]
        >(`[...document.querySelectorAll('main button:not([aria-haspopup]), main [role=button]')]
          .map((each) => (each.getAttribute('aria-label') ?? each.textContent) || /lucide-\\S+(?=")/.exec(each.innerHTML)?.[0])`)),
      );
      for (const menu of await page.locator('main [aria-haspopup]').all()) {
        await menu.click();
        for (const item of await page.getByRole('menu').locator('[role^=menuitem]').allTextContents())
          offered.push(`menu: ${item}`);
        await page.keyboard.press('Escape');
      }
    };
    await signIn(page, ADMIN_TOKEN);
    await page.getByRole('link', { name: 'Queues', exact: true }).click();
    for (const name of Object.values(QUEUES)) await page.getByText(name, { exact: true }).first().waitFor();
    await look('queues');
    await page.getByRole('link', { name: QUEUES.deadLetters }).first().click();
    await page.getByText(dead).first().waitFor();
    await look('queues-list');
    await page.goto(`/queues/queue/${QUEUES.deadLetters}/${encodeURIComponent(dead)}`);
    await page.getByText('exhausted').first().waitFor();
    await look('queues-job');
    await page.getByRole('link', { name: 'Back to Breakwater' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(offered).toContain('Logs');
    expect(offered.filter((each) => !HARMLESS.test(each))).toEqual([]);
    expect(troubles).toEqual([]);
    await page.context().close();
  },
  120_000,
);
