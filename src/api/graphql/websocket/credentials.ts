/**
 * Reads the credential of a WebSocket from the payload of `connection_init`, under the headers' names in any case, because
 * browsers can't send headers. Missing values come from the upgrade's headers. The cookie half of a session and the page's
 * origin come only from the headers.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { UnauthenticatedError } from '../../../domain/errors/errors.ts'

/** Headers with a credential; `x-tenant-id` only selects the workspace. */
const CREDENTIAL_HEADERS = ['x-api-key', 'authorization', 'x-session'] as const
const PAYLOAD_NAMES = [...CREDENTIAL_HEADERS, 'x-tenant-id'] as const
/**
 * Headers that only browsers set. `Sec-Fetch-Site` is missing: Chromium does not send it with an upgrade, so `Origin`
 * identifies the page.
 */
const BROWSER_HEADERS = ['cookie', 'origin', 'host'] as const

/** Characters that a header value may have. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

export type CredentialHeaders = { [N in (typeof PAYLOAD_NAMES)[number] | (typeof BROWSER_HEADERS)[number]]?: string }

/** Throws UnauthenticatedError for an invalid value or a repeated name. */
export function credentialsOf(payload: Record<string, unknown>, headers: IncomingHttpHeaders): CredentialHeaders {
  const found: CredentialHeaders = {}
  for (const [key, value] of Object.entries(payload)) {
    const name = PAYLOAD_NAMES.find((one) => one === key.toLowerCase())
    if (!name || value === null || value === undefined) continue
    if (typeof value !== 'string' || !HEADER_VALUE.test(value) || found[name] !== undefined)
      throw new UnauthenticatedError(`${key} in the payload of connection_init must be one string.`)
    found[name] = value
  }
  const shown = CREDENTIAL_HEADERS.some((name) => found[name] !== undefined)
  for (const name of [...PAYLOAD_NAMES, ...BROWSER_HEADERS]) {
    const value = headers[name]
    // a credential in the payload excludes credentials in the headers
    const isOther = shown && (CREDENTIAL_HEADERS as readonly string[]).includes(name)
    if (found[name] === undefined && typeof value === 'string' && !isOther) found[name] = value
  }
  return found
}
