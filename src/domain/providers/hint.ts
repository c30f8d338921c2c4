/** What there is to do about an error code of a provider, where it is ours to do. Pure. */
const HINTS = new Map<string | null, string>([
  ['invalid_client', '. An admin has to check the provider’s client_id and client_secret'],
  ['unauthorized_client', '. An admin has to check how the client is registered there'],
])

/** Goes on from what has happened, without a full stop at the end; empty: nothing is known. */
export function hintOf(error: string | null): string {
  return HINTS.get(error) ?? ''
}
