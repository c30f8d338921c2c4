/**
 * Who calls over a WebSocket: the payload of `connection_init` says it under the names of the headers, in any letter case,
 * since browsers can't send any; what it leaves out is taken from the headers of the upgrade.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { UnauthenticatedError } from '../../../domain/core/errors.ts'

const NAMES = ['x-api-key', 'authorization', 'x-tenant-id'] as const

/** What a header can carry. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/

export type CredentialHeaders = { [N in (typeof NAMES)[number]]?: string }

/** Throws UnauthenticatedError for a value that is none, or a name that is there twice. */
export function credentialsOf(payload: Record<string, unknown>, headers: IncomingHttpHeaders): CredentialHeaders {
  const said: CredentialHeaders = {}
  for (const [key, value] of Object.entries(payload)) {
    const name = NAMES.find((one) => one === key.toLowerCase())
    if (!name || value === null || value === undefined) continue
    if (typeof value !== 'string' || !SENDABLE.test(value) || said[name] !== undefined)
      throw new UnauthenticatedError(`${key} in the payload of connection_init must be one text.`)
    said[name] = value
  }
  const shown = said['x-api-key'] !== undefined || said.authorization !== undefined
  for (const name of NAMES) {
    const value = headers[name]
    // a credential of the payload is not mixed with another one of the headers
    if (said[name] === undefined && typeof value === 'string' && !(shown && name !== 'x-tenant-id')) said[name] = value
  }
  return said
}
