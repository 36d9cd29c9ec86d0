import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { erpDestination, eventKey, newEndpointId } from '@breakwater/contracts/ids';
import { type Console, startConsole } from './api-rig.ts';
import { eventPath } from '../src/ui/parts.ts';
import { type Browser, createBrowser } from './ui-rig.ts';

let console: Console;
let browser: Browser;
beforeAll(async () => {
  console = await startConsole();
  browser = createBrowser(`http://127.0.0.1:${console.port}`);
  await browser.signIn((await console.token('operator:acme')).value);
});
afterAll(() => console.close());

const record = async (
  eventId: string,
  {
    body = '{"price":1.10,"who":"Ada"}',
    plan = [erpDestination('receipts')] as readonly string[],
    operator = 'acme',
  } = {},
): Promise<void> => {
  const source = `${operator}-shop`;
  await console.transitions.recordEvent({
    eventKey: eventKey(operator, source, eventId),
    source,
    operator,
    plan: plan.map((d) => ({ d })),
    fields: {
      eventId,
      type: 'order.paid',
      contentType: 'text/html',
      receivedAt: Date.now(),
      encoding: 'utf8',
      body,
    },
    from: 0,
    count: 1_000,
    replan: false,
  });
};
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

test.each(['a/b', '../..', '.', '..', '100%', '%2e%2e', 'żółć 🐚', '<b>&"', 'a?b#c', ' ', 'x'.repeat(512)])(
  'the page of an event is found whatever its id holds: %j',
  async (eventId) => {
    await record(eventId);
    const address = eventPath('acme-shop', eventId);
    // As a browser reads the address of a link, and as it follows it.
    const { pathname, search } = new URL(address, 'http://here');
    expect(pathname + search).toBe(address);
    const { status, text } = await browser.get(address);
    expect(status).toBe(200);
    expect(text).toContain(`<bdi>${escaped(eventId)}</bdi>`);
    expect(text).not.toContain('<b>');
    // Its payload is found from there too.
    const kept = [...text.matchAll(/type="hidden" name="(source|event|body)" value="([^"]*)"/g)];
    const to = /<form method="get" action="([^"]*)" class="panel"/.exec(text)?.[1] ?? '';
    const query = new URLSearchParams(
      kept.map(([, name = '', value = '']) => [name, value] as [string, string]),
    );
    expect((await browser.get(`${to}?${query.toString()}`)).text).toContain('1.10');
  },
);

test('the payload is not shown before somebody asks for it, and its page says what it may hold', async () => {
  await record('masked');
  const masked = await browser.get('/events/acme-shop/masked');
  expect(masked.text).toContain('it may hold personal data');
  expect(masked.text).not.toContain('Ada');
  const shown = await browser.get('/events/acme-shop/masked?body=true');
  expect(shown.text).toContain('Ada');
});

test('a payload keeps every character of its values, and what is no JSON is shown as it came', async () => {
  const numbers = '{"price":1.10,"big":9007199254740993,"twice":1,"twice":2,"s":"a, {b}: \\"\\u00e9"}';
  await record('exact', { body: numbers });
  const { text } = await browser.get('/events/acme-shop/exact?body=true');
  const lines = ['{', '  "price": 1.10,', '  "big": 9007199254740993,', '  "twice": 1,', '  "twice": 2,'];
  lines.push(String.raw`  "s": "a, {b}: \"\u00e9"`, '}');
  expect(text).toContain(escaped(lines.join('\n')));
  await record('hostile', { body: '</pre><script>alert(1)</script>\u202e\u001b[31m' });
  const hostile = await browser.get('/events/acme-shop/hostile?body=true');
  expect(hostile.text).toContain(
    String.raw`&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\u202e\u001b[31m`,
  );
  expect(hostile.text).not.toContain('<script>alert');
});

test('an event that nobody wanted says so, with the command that delivers it once somebody does', async () => {
  await record("it's $(reboot)", { plan: [] });
  const { text } = await browser.get(eventPath('acme-shop', "it's $(reboot)"));
  expect(text).toContain('Unrouted');
  const command = String.raw`breakwater --operator acme events fan-out --source acme-shop --event 'it'\''s $(reboot)'`;
  expect(text.replaceAll('&#39;', "'")).toContain(command);
});

test('every delivery of an event is on its page, or a link to all of them, and what the ERP made of it', async () => {
  await record('few');
  const few = await browser.get('/events/acme-shop/few');
  expect(few.text).toContain('ERP documents');
  expect(few.text).toContain('No document is known');
  expect(few.text).not.toContain('All deliveries of this event');
  const key = eventKey('acme', 'acme-shop', 'few');
  await console.redis.hset(console.keys.delivery(`${key}.${erpDestination('receipts')}`), 'receipt', 'R-<1>');
  expect((await browser.get('/events/acme-shop/few')).text).toContain('<bdi>R-&lt;1&gt;</bdi>');
  await record('many', { plan: Array.from({ length: 101 }, () => newEndpointId()) });
  const { text } = await browser.get('/events/acme-shop/many');
  expect(text).toContain('/deliveries?event=many&amp;source=acme-shop');
  expect(text.match(/data-status="pending"/g)).toHaveLength(100);
});

test("another's event looks like one that does not exist, and one may be looked for by its id", async () => {
  await record('theirs', { operator: 'globex' });
  const pages = ['theirs', 'nobodys'].map(async (id) => {
    const { status, text } = await browser.get(`/events/globex-shop/${id}?body=true`);
    return `${status} ${text.replaceAll(id, '<id>')}`;
  });
  const [theirs, nobodys] = await Promise.all(pages);
  expect(theirs).toMatch(/^404 /);
  expect(theirs).toBe(nobodys);
  await record('found');
  expect((await browser.get('/events')).text).toContain('name="event"');
  expect((await browser.get('/events?source=acme-shop&event=found')).text).toContain('<bdi>found</bdi>');
});

test('a source that does not exist is told, and the form keeps what was typed into it', async () => {
  const { status, text } = await browser.get('/events?source=acme-shpo&event=evt-%3C1%3E');
  const words = text.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
  expect(status).toBe(404);
  expect(words).toContain('Operator acme has no source acme-shpo. It has acme-shop, api.');
  expect(text).toMatch(/name="source"[^>]*value="acme-shpo"/);
  expect(text).toMatch(/name="event"[^>]*value="evt-&lt;1&gt;"/);
  expect((await browser.get('/events/acme-shop/none')).text).not.toContain('has no source');
});

test('events and quarantine mark the entry of the menu that leads to them', async () => {
  for (const [path, entry] of [
    ['/events', '/deliveries'],
    ['/quarantine', '/sources'],
  ] as const) {
    const marked = [...(await browser.get(path)).text.matchAll(/href="([^"]*)"\s+aria-current="page"/g)];
    expect(marked.map(([, at]) => at)).toEqual([entry]);
  }
});
