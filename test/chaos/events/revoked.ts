/** Revokes a key while its streams are open: its streams must end, and no others. */
import type { Calls } from './calls.ts'
import type { Subscriber } from './subscribers/subscriber.ts'

/** Resolves with the time in ms until the last of its streams ended and no new one can be opened. */
export async function revoke(calls: Calls, keyId: string, its: readonly Subscriber[]): Promise<number> {
  const query = `mutation($id: ID!) { revokeApiKey(input: { apiKeyId: $id }) { ... on Error { message } } }`
  await calls.untilDone({ method: 'POST', path: '/graphql', body: { query, variables: { id: keyId } } })
  const since = performance.now()
  await Promise.all(its.map(({ stream }) => stream?.ended))
  const took = performance.now() - since
  await Promise.all(its.map(({ done }) => done))
  return took
}
