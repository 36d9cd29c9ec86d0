import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { type BrokenReceiver, startBrokenReceiver } from '../support/broken-receiver.ts';
import { browserTest as testHere, hasBrowser, openBrowser, openTab, signIn } from '../support/browser.ts';
import { type Rig, startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';

/** The work that the console is for, as three people do it: with a mouse, with a keyboard alone, and without scripts. */
let rig: Rig;
let browser: Browser;
let receiver: BrokenReceiver;
let token: string;
beforeAll(async () => {
  if (!hasBrowser) return;
  [rig, browser] = await Promise.all([
    startRig({ schedule: '0s', services: ['ingest', 'dispatcher', 'console'] }),
    openBrowser(),
  ]);
  token = (
    await rig.json<{ value: string }>('tokens', 'create', '--name', 'dev', '--scope', 'operator:default')
  ).value;
}, 120_000);
afterAll(async () => {
  await receiver?.close();
  await browser?.close();
  await rig?.close();
}, 60_000);

/** A receiver with the wrong secret and one dead letter because of it. */
async function breakReceiver(name: string): Promise<string> {
  await receiver?.close();
  receiver = await startBrokenReceiver(rig, `order.${name}`);
  await receiver.deadLetter(`evt-${name}`);
  return `evt-${name}`;
}

const answerShown = (page: Page): Locator =>
  page.getByRole('region', { name: 'Last answer of the receiver, as text' });
const latestAttempt = (page: Page): Locator =>
  page.getByRole('table', { name: 'Attempts, newest first' }).locator('tbody tr').first();
const headline = (page: Page): Locator => page.getByRole('region', { name: 'State' }).locator('.status');

testHere(
  'a developer finds a dead letter, reads why, mends the receiver, replays it, and sees it sent without reloading',
  async () => {
    const event = await breakReceiver('mouse');
    const { page, troubles } = await openTab(browser, rig.consoleUrl);
    await page.goto('/');
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
    await page.getByLabel('Status').selectOption('dead_letter');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('link', { name: event }).click();
    expect(await headline(page).textContent()).toBe('dead letter');
    expect(await answerShown(page).textContent()).toContain('The signature does not match');

    await receiver.mend();
    receiver.suspend(); // or the result might be there before the page is
    try {
      await page.getByLabel('Reason').first().fill('the secret was wrong');
      await page.getByRole('button', { name: 'Replay' }).click();
      await page.getByText('The replay was asked for').waitFor();
      await page.evaluate('window.isSameDocument = true');
      expect(await latestAttempt(page).textContent()).toContain('401');
    } finally {
      receiver.resume();
    }
    await latestAttempt(page).getByText('sent', { exact: true }).waitFor();
    await latestAttempt(page).getByText('a replay').waitFor();
    expect(await headline(page).textContent()).toBe('sent');
    await page.getByLabel('I confirm that it dedupes durably').waitFor(); // what is offered follows the state
    expect(await page.getByRole('heading', { name: 'Close as settled' }).count()).toBe(0);
    expect(await page.evaluate('window.isSameDocument')).toBe(true);
    expect(troubles).toEqual([]);
    await page.context().close();
  },
  180_000,
);

testHere(
  'a run that replays a group of dead letters is watched to its end, and what it did stays on the page',
  async () => {
    await breakReceiver('group');
    await receiver.mend();
    const { page, troubles } = await openTab(browser, rig.consoleUrl);
    await signIn(page, token);
    await page.getByRole('link', { name: 'Dead letters' }).click();
    await page.getByRole('link', { name: 'http_auth' }).first().click();
    await page.getByRole('link', { name: 'See what a replay would do' }).click();
    receiver.suspend(); // or the run might be over before its page is there
    try {
      await page.getByLabel('Reason').fill('the secret was wrong');
      await page.getByRole('button', { name: /^Replay/ }).click();
      await page.getByRole('heading', { name: 'Cancel' }).waitFor();
      await page.evaluate('window.isSameDocument = true');
      await page.getByLabel('Reason').fill('half a sentence');
    } finally {
      receiver.resume();
    }
    const run = page.getByRole('region', { name: 'Progress' });
    await run.getByText('done', { exact: true }).waitFor();
    await page.waitForTimeout(5_000); // twice as long as it takes to read itself again
    expect(await run.textContent()).toContain('1 of 1 have a result: 1 sent');
    expect(await page.getByRole('region', { name: 'What was asked for' }).textContent()).toContain(
      'the secret was wrong',
    );
    expect(await page.getByLabel('Reason').inputValue()).toBe('half a sentence');
    await page.getByLabel('Reason').fill('');
    await page.getByRole('heading', { name: 'Replay run' }).click();
    expect(await page.evaluate('window.isSameDocument')).toBe(true);
    expect(troubles).toEqual([]);
    await page.context().close();
  },
  180_000,
);

interface Stop {
  readonly what: string;
  /** Place among everything that can be focused, in reading order. */
  readonly place: number;
  readonly isOutlined: boolean;
  readonly isInView: boolean;
}

/** Presses Tab until `target` has the focus. Every stop on the way must be visible, and further down than the last. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  const stops: Stop[] = [];
  for (;;) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate<Stop>(`(() => {
      const at = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      const box = at.getBoundingClientRect();
      const all = [...document.querySelectorAll('a, button, input, select, textarea, summary, [tabindex]')];
      return {
        what: at.outerHTML.slice(0, 120),
        place: all.indexOf(at),
        isOutlined: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2,
        isInView: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0,
      };
    })()`);
    const before = stops.at(-1)?.place ?? -1;
    stops.push(stop);
    const isGood = stop.isOutlined && stop.isInView && stop.place > before;
    if (!isGood) throw new Error(`not seen or not in order, the last of ${JSON.stringify(stops, null, 1)}`);
    if ((await target.and(page.locator(':focus')).count()) > 0) return;
  }
}

testHere(
  'the same is done with the keyboard alone, and the focus is always seen and goes down the page',
  async () => {
    const event = await breakReceiver('keyboard');
    const { page, troubles } = await openTab(browser, rig.consoleUrl);
    const { keyboard } = page;
    await page.goto('/');
    await keyboard.type(token); // the form has the focus
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await tabTo(page, page.getByRole('link', { name: 'To the content' }));
    await tabTo(page, page.getByRole('link', { name: 'Deliveries', exact: true }));
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Deliveries', exact: true }).waitFor();
    const status = page.getByLabel('Status');
    await tabTo(page, status);
    await keyboard.type('dead');
    expect(await status.inputValue()).toBe('dead_letter');
    await tabTo(page, page.getByRole('button', { name: 'Show' }));
    await keyboard.press('Enter');
    await page.waitForURL(/status=dead_letter/);
    await tabTo(page, page.getByRole('link', { name: event }));
    await keyboard.press('Enter');
    await page.getByText('The signature does not match').waitFor();

    await receiver.mend();
    await tabTo(page, page.getByLabel('Reason').first());
    await keyboard.type('the secret was wrong');
    await tabTo(page, page.getByRole('button', { name: 'Replay' }));
    await keyboard.press('Enter');
    await page.getByText('The replay was asked for').waitFor();
    await latestAttempt(page).getByText('sent', { exact: true }).waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  },
  180_000,
);

testHere(
  'the same is done in a browser that runs no scripts, by reloading',
  async () => {
    const event = await breakReceiver('scriptless');
    const { page } = await openTab(browser, rig.consoleUrl, { javaScriptEnabled: false });
    await page.goto('/');
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
    await page.getByLabel('Status').selectOption('dead_letter');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('link', { name: event }).click();
    expect(await answerShown(page).textContent()).toContain('The signature does not match');

    await receiver.mend();
    await page.getByLabel('Reason').first().fill('the secret was wrong');
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('The replay was asked for').waitFor();
    await waitUntil(
      async () => {
        await page.reload();
        return (await headline(page).textContent()) === 'sent';
      },
      { what: 'the delivery to be shown as sent', timeoutMs: 60_000, intervalMs: 500 },
    );
    expect(await latestAttempt(page).textContent()).toContain('a replay');
    await page.context().close();
  },
  180_000,
);
