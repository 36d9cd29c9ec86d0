import { type Compiler, type Evaluated, mappingError } from './expression.ts';
import { kindOf } from './json.ts';

/** Where an ERP's API begins, and how a mapped path is appended to it. */
export interface TargetUrl {
  /**
   * The absolute URL of a path that an expression gave. A path may hold text of strangers, so whatever would leave the
   * base (another origin, `..` above the base path) or cut the query short (`#`) is an error, never repaired.
   */
  readonly at: (path: unknown) => Evaluated<string>;
}

/** Characters that the URL parser drops, trims or reads as something else, so that the ERP would be asked for another name. */
const MISREAD = /[\s\p{Cc}\\#]/u;

/** `.` and `..` as segments, however they are written: percent-encoding leaves them as they are, and the parser obeys. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:[/?]|$)/i;

export function createTargetUrl(baseUrl: string, compiler: Compiler): TargetUrl {
  const base = new URL(baseUrl);
  if (base.search !== '' || base.hash !== '')
    compiler.mistake('adapter.baseUrl', 'expected no query and no fragment: paths are appended to it');
  if (base.username !== '' || base.password !== '') {
    compiler.mistake(
      'adapter.baseUrl',
      'expected no credentials: put them into adapter.auth, which is never shown',
    );
  }
  const root = base.pathname.replace(/\/+$/, '');
  const prefix = `${base.origin}${root}`;
  return {
    at(path) {
      if (typeof path !== 'string')
        return mappingError(`expected a path such as "/api/receipts", got ${kindOf(path)}`);
      if (!path.startsWith('/')) return mappingError('the path must begin with /');
      if (MISREAD.test(path))
        return mappingError(
          'the path holds a blank, #, \\ or a control character: wrap values in $encodeUrlComponent()',
        );
      if (DOT_SEGMENT.test(path.split('?', 1)[0] ?? ''))
        return mappingError('the path has a . or .. segment: an id must not choose the resource');
      const url = URL.canParse(prefix + path) ? new URL(prefix + path) : undefined;
      if (url?.origin !== base.origin || !url.pathname.startsWith(`${root}/`)) {
        return mappingError('the path leads outside of baseUrl: wrap values in $encodeUrlComponent()');
      }
      return { ok: true, value: url.href };
    },
  };
}
