/** A key that is revoked while its streams are open: they end, and no other. */
import type { Calls } from './calls.ts'
import type { Subscriber } from './subscribers/subscriber.ts'

/** Resolves with how long the last of its streams went on, in ms, when no new one is to be had. */
export async function revoke(calls: Calls, keyId: string, its: readonly Subscriber[]): Promise<number> {
  const query = `mutation($id: ID!) { revokeApiKey(input: { apiKeyId: $id }) { ... on Error { message } } }`
  await calls.untilDone({ method: 'POST', path: '/graphql', body: { query, variables: { id: keyId } } })
  const since = performance.now()
  await Promise.all(its.map(({ stream }) => stream?.ended))
  const took = performance.now() - since
  await Promise.all(its.map(({ done }) => done))
  return took
}
