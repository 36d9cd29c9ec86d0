import { PAGES } from '@breakwater/console/ui/ui';
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser } from 'playwright-core';
import {
  browserTest as testHere,
  hasBrowser,
  openBrowser,
  openTab,
  overflowOf,
  signIn,
} from '../support/browser.ts';
import { addEndpoint, ADMIN_TOKEN, deliveryReaching } from '../support/console-api.ts';
import { type Rig, startRig } from '../support/rig.ts';
import { startSubscriber, type Subscriber } from '../support/subscriber.ts';

/** What strangers write, in answers, ids and types, is shown as what it is, and does nothing in a real browser. */
let rig: Rig;
let browser: Browser;
/** Where everything hostile wants to reach. */
let lair: Subscriber;
let receiver: Subscriber;
beforeAll(async () => {
  if (!hasBrowser) return;
  [rig, browser, lair, receiver] = await Promise.all([
    startRig({ schedule: '0s', services: ['ingest', 'dispatcher', 'console'] }),
    openBrowser(),
    startSubscriber(),
    startSubscriber(),
  ]);
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await rig?.close();
  await Promise.all([lair?.close(), receiver?.close()]);
}, 60_000);

interface Hostile {
  readonly name: string;
  /** `to`: an address to reach. */
  readonly text: (to: string) => string | Buffer;
  /** What a person reads instead. */
  readonly shown: (to: string) => readonly string[];
}
const markup: Hostile['text'] = (to) =>
  `<script>alert(1);fetch('${to}')</script><img src=${to} onerror=alert(2)><style>body{display:none}</style>` +
  `</pre></section></div></main><h1 id=delivery>gone</h1><iframe src=${to}></iframe><base href=${to}>` +
  `<form action=${to}><input autofocus onfocus=alert(3)></form><meta http-equiv=refresh content="0;${to}">` +
  `<link rel=stylesheet href=${to}><a href="javascript:alert(4)">x</a>&lt;b&gt;`;
const htmx: Hostile['text'] = (to) =>
  `<div hx-get="${to}" hx-trigger="load">a</div><div hx-post="/sign-out" data-hx-trigger="load" hx-on:htmx:load="alert(5)">b</div>` +
  `<div id="main" hx-swap-oob="true">gone</div><template><div hx-on::after-settle="alert(6)"></div></template>`;
const HOSTILE: readonly Hostile[] = [
  { name: 'markup and scripts', text: markup, shown: (to) => [String(markup(to))] },
  { name: 'attributes that htmx obeys', text: htmx, shown: (to) => [String(htmx(to))] },
  {
    name: 'what terminals, direction marks and broken encodings do',
    text: () =>
      Buffer.concat([
        Buffer.from('\u001B[2J\u001B]0;mine\u0007 \u202Etxt.exe\u2066 \0nul\0 '),
        Buffer.from([0xff, 0xfe, 0xc0, 0xaf, 0xed, 0xa0, 0x80]),
        Buffer.from(' end'),
      ]),
    shown: () => [
      String.raw`\u001b[2J\u001b]0;mine\u0007 \u202etxt.exe\u2066 \u0000nul\u0000 `,
      '\uFFFD\uFFFD',
      ' end',
    ],
  },
  {
    name: 'a line of a megabyte',
    text: () => 'wide'.repeat(256 * 1024),
    shown: () => ['wide'.repeat(256)],
  },
];

for (const [index, { name, text, shown }] of HOSTILE.entries()) {
  testHere(
    `${name}: shown as text, and nothing runs, asks, breaks the page or leaves it`,
    async () => {
      const to = lair.url;
      // Ids and types are shorter than answers may be.
      const written = String(text(to)).slice(0, 200).replaceAll('\uFFFD', '');
      const [event, prefix] = [`${written} ${index}`, `hostile${index}`];
      const contentType = `text/html; x="><img src=${to} onerror=alert(7)>`;
      receiver.answer({ status: 500, contentType, body: text(to) });
      await addEndpoint(rig, receiver.url, `${prefix}.*`);
      const sent = await rig.send({ event_id: event, type: `${prefix}.${written.slice(0, 100)}` });
      expect(await sent.text()).toContain('"ok":true');
      const delivery = await deliveryReaching(rig, event, 'dead_letter');

      const { page, troubles } = await openTab(browser, rig.consoleUrl);
      await signIn(page, ADMIN_TOKEN);
      const paths = [
        `/deliveries?${new URLSearchParams({ event }).toString()}`,
        `/deliveries/${delivery}`,
        ...(has('/events/:') ? [`/events/demo-payments/${encodeURIComponent(event)}`] : []),
        ...(has('/dead-letters') ? ['/dead-letters'] : []),
      ];
      for (const path of paths) {
        await page.goto(path);
        for (const width of [1280, 360]) {
          await page.setViewportSize({ width, height: 800 });
          expect({ path, width, overflow: await overflowOf(page) }).toEqual({ path, width, overflow: 0 });
        }
        expect(await page.locator('main').count()).toBe(1);
      }

      await page.goto(`/deliveries/${delivery}`);
      await page.evaluate(
        `new Promise((done) => document.addEventListener('htmx:afterSettle', done, { once: true })).then(() => 0)`,
      ); // what a part reads again is as harmless as what the page began with
      const answer = page.getByRole('region', { name: 'Last answer of the receiver, as text' });
      for (const part of shown(to)) expect(await answer.textContent()).toContain(part);
      expect(await answer.locator('*').count()).toBe(0);
      expect(await page.locator('main h2').allTextContents()).toEqual([
        'Attempts',
        'Last answer of the receiver',
        'Replay',
        'Close as settled',
      ]);
      expect(troubles).toEqual([]);
      expect(lair.received).toEqual([]);
      await page.context().close();
    },
    120_000,
  );
}

const has = (path: string): boolean => PAGES.some((page) => page.path.startsWith(path));
