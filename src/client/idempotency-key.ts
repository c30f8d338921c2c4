/** The header by which a write is done once, however often it is sent (docs/api-rules.md#retries). */

/**
 * For one of the writes of a call that the caller has named `key`; quoted, as draft-ietf-httpapi-idempotency-key-header writes it. Without
 * one the connection gives each write a key of its own. Throws TypeError.
 */
export function idempotencyKey(key: string | undefined, write: string): Record<string, string> {
  if (key === undefined) return {}
  if (!/^[\x20-\x7e]{1,200}$/.test(key))
    throw new TypeError('idempotencyKey must have 1 to 200 printable ASCII characters.')
  return { 'Idempotency-Key': `"${`${key}:${write}`.replace(/["\\]/g, '\\$&')}"` }
}
