/**
 * Who calls over a WebSocket: the payload of `connection_init` says it under the names of the headers, in any letter case,
 * since browsers can't send any; what it leaves out is taken from the headers of the upgrade. Of a session the payload has the
 * half that the page keeps; the cookie, and which page it is, say the headers alone.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { UnauthenticatedError } from '../../../domain/errors/errors.ts'

/** Those that say who calls, and the one that selects. */
const CREDENTIAL_HEADERS = ['x-api-key', 'authorization', 'x-session'] as const
const PAYLOAD_NAMES = [...CREDENTIAL_HEADERS, 'x-tenant-id'] as const
/** What only a browser writes. Not `Sec-Fetch-Site`: Chromium sends none with an upgrade, so a page is known by its origin here. */
const BROWSER_HEADERS = ['cookie', 'origin', 'host'] as const

/** What a header can carry. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

export type CredentialHeaders = { [N in (typeof PAYLOAD_NAMES)[number] | (typeof BROWSER_HEADERS)[number]]?: string }

/** Throws UnauthenticatedError for a value that is none, or a name that is there twice. */
export function credentialsOf(payload: Record<string, unknown>, headers: IncomingHttpHeaders): CredentialHeaders {
  const said: CredentialHeaders = {}
  for (const [key, value] of Object.entries(payload)) {
    const name = PAYLOAD_NAMES.find((one) => one === key.toLowerCase())
    if (!name || value === null || value === undefined) continue
    if (typeof value !== 'string' || !HEADER_VALUE.test(value) || said[name] !== undefined)
      throw new UnauthenticatedError(`${key} in the payload of connection_init must be one text.`)
    said[name] = value
  }
  const shown = CREDENTIAL_HEADERS.some((name) => said[name] !== undefined)
  for (const name of [...PAYLOAD_NAMES, ...BROWSER_HEADERS]) {
    const value = headers[name]
    // a credential of the payload is not mixed with another one of the headers
    const isOther = shown && (CREDENTIAL_HEADERS as readonly string[]).includes(name)
    if (said[name] === undefined && typeof value === 'string' && !isOther) said[name] = value
  }
  return said
}
