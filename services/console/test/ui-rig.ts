/** What a browser does that a test of pages needs: it keeps cookies, sends forms, and follows nothing by itself. */
export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly location: string | null;
}

export interface Browser {
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Seen>;
  readonly send: (
    path: string,
    form: Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[],
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Seen>;
  readonly signIn: (token: string, next?: string) => Promise<Seen>;
  /** As it is sent. */
  readonly cookie: () => string;
  /** The proof that forms of this session hold, as its pages show it. */
  readonly csrf: () => Promise<string>;
}

export function createBrowser(origin: string, always: Readonly<Record<string, string>> = {}): Browser {
  const cookies = new Map<string, string>();
  const ask = async (path: string, init: RequestInit): Promise<Seen> => {
    const cookie = browser.cookie();
    const response = await fetch(origin + path, {
      ...init,
      redirect: 'manual',
      headers: { ...always, ...(cookie !== '' && { cookie }), ...(init.headers as Record<string, string>) },
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const [name = '', value = ''] = pair.split('=');
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const { status, headers } = response;
    return { status, headers, text: await response.text(), location: headers.get('location') };
  };
  const browser: Browser = {
    get: (path, headers = {}) => ask(path, { headers }),
    send: (path, form, headers = {}) =>
      ask(path, {
        method: 'POST',
        body: encode(form),
        headers: { origin, ...headers },
      }),
    signIn: (token, next = '/') => browser.send('/sign-in', { token, next }),
    cookie: () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    csrf: async () => /name="csrf" value="([^"]+)"/.exec((await browser.get('/')).text)?.[1] ?? '',
  };
  return browser;
}

/** The value of a hidden field, as the page holds it; '' where there is none. */
export const fieldOf = (page: string, name: string): string =>
  new RegExp(String.raw`type="hidden" name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';

const encode = (form: Parameters<Browser['send']>[1]): URLSearchParams => {
  const fields = new URLSearchParams();
  for (const [name, value] of Array.isArray(form) ? form : Object.entries(form)) fields.append(name, value);
  return fields;
};

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" } as const;
const unescape = (text: string): string =>
  text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_whole, name: keyof typeof ENTITIES) => ENTITIES[name]);
const attribute = (tag: string, name: string): string | undefined => {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  return value === undefined ? undefined : unescape(value);
};

/** Of the first tag of a page that has it. */
export const attributeOf = (page: string, name: string): string => {
  const tag = page.split('<').find((each) => attribute(` ${each}`, name) !== undefined) ?? '';
  return attribute(` ${tag}`, name) ?? '';
};

/** What a browser would send if somebody pressed the button of the form that goes to `action`, with nothing filled in. */
export function formTo(text: string, action: string): [name: string, value: string][] {
  const form = text
    .split('<form ')
    .find((each) => attribute(` ${each.split('>', 1)[0]}`, 'action') === action);
  if (form === undefined) throw new Error(`there is no form to ${action}`);
  const [inner = ''] = form.split('</form>');
  const found: [string, string][] = [];
  const fields = /<(input|textarea|select)\s([^>]*)>/g;
  for (const { 0: tag, 1: kind, index } of inner.matchAll(fields)) {
    const name = attribute(tag, 'name');
    if (name === undefined || (/type="(checkbox|radio)"/.test(tag) && !/\schecked\s/.test(tag))) continue;
    const [content = ''] = inner.slice(index + tag.length).split(`</${kind}`);
    const options = content.match(/<option[^>]*>/g) ?? [];
    const chosen = options.find((option) => /\sselected\s*>/.test(option)) ?? options[0];
    if (kind === 'input') found.push([name, attribute(tag, 'value') ?? '']);
    else if (kind === 'select') found.push([name, attribute(chosen ?? '', 'value') ?? '']);
    // A browser leaves out the first line break of a text, and sends all others as CR LF.
    else found.push([name, unescape(content).replace(/^\n/, '').replaceAll(/\r?\n/g, '\r\n')]);
  }
  return found;
}

/** The same form with some of its fields filled in otherwise. */
export const filledIn = (
  form: readonly (readonly [name: string, value: string])[],
  values: Readonly<Record<string, string>>,
): (readonly [string, string])[] => [
  ...form.filter(([name]) => !Object.hasOwn(values, name)),
  ...Object.entries(values),
];
