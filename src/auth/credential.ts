/** What a caller sent to say who they are: an API key in X-Api-Key or as Bearer, or a JWT as Bearer (contract 1). */
import type { IncomingHttpHeaders } from 'node:http'
import { decodeProtectedHeader } from 'jose'
import { UnauthenticatedError } from '../domain/errors.ts'

export type Credential = { kind: 'key'; text: string } | { kind: 'jwt'; text: string }

/** Throws UnauthenticatedError when there is none. X-Api-Key wins over Authorization. */
export function readCredential(headers: IncomingHttpHeaders): Credential {
  const key = headers['x-api-key']
  if (typeof key === 'string' && key !== '') return { kind: 'key', text: key }
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (bearer === undefined) throw new UnauthenticatedError()
  return { kind: isJwt(bearer) ? 'jwt' : 'key', text: bearer }
}

/** Whether it has a JWT's header; an operator's own key may well have dots in it. */
function isJwt(text: string): boolean {
  if (text.split('.').length !== 3) return false
  try {
    return typeof decodeProtectedHeader(text).alg === 'string'
  } catch {
    return false
  }
}
