import { readQuery, type SignedRequest } from './headers.ts';

/** Does a check with this condition concern the request? */
export function appliesTo(
  when: { readonly query: string; readonly present: boolean } | undefined,
  request: SignedRequest,
): boolean {
  return when === undefined || (readQuery(request.query, when.query).kind !== 'missing') === when.present;
}
