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
    form: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Seen>;
  readonly signIn: (token: string, next?: string) => Promise<Seen>;
  /** The proof that forms of this session hold, as its pages show it. */
  readonly csrf: () => Promise<string>;
}

export function createBrowser(origin: string, always: Readonly<Record<string, string>> = {}): Browser {
  const cookies = new Map<string, string>();
  const ask = async (path: string, init: RequestInit): Promise<Seen> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
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
      ask(path, { method: 'POST', body: new URLSearchParams(form), headers: { origin, ...headers } }),
    signIn: (token, next = '/') => browser.send('/sign-in', { token, next }),
    csrf: async () => /name="csrf" value="([^"]+)"/.exec((await browser.get('/')).text)?.[1] ?? '',
  };
  return browser;
}

/** The value of a hidden field, as the page holds it; '' where there is none. */
export const fieldOf = (page: string, name: string): string =>
  new RegExp(String.raw`type="hidden" name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';
