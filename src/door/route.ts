/** Reads which deployment a request is for. */
import type { IncomingMessage } from 'node:http'

/** A DNS name or an address, without port and trailing dot. */
const HOST = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d*)?$/i

/**
 * The host that the request names, in lower case, without port and trailing dot. Null: the request has no path, or not one valid host.
 * An absolute-form target takes precedence over `Host` (RFC 9112, 3.2.2); it is replaced by its path.
 */
export function hostOf(request: IncomingMessage): string | null {
  const { rawHeaders, headers } = request
  let named = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]!.toLowerCase() === 'host') named++
  if (named > 1) return null
  const absolute = /^https?:\/\/([^/?#]*)([^#]*)/i.exec(request.url!)
  if (absolute) {
    headers.host = absolute[1]!
    request.url = absolute[2]!.startsWith('/') ? absolute[2]! : `/${absolute[2]}`
  }
  // `*`, or a URL that is not of HTTP: httpxy would make a path of it
  if (!request.url!.startsWith('/')) return null
  return (
    HOST.exec(headers.host ?? '')?.[1]
      ?.toLowerCase()
      .replace(/\.$/, '') ?? null
  )
}

/** Splits `/~name/rest`. Null: another path. */
export function splitPath(url: string): { name: string; rest: string } | null {
  const [, name, rest] = /^\/~([a-z0-9-]+)(?=[/?]|$)(.*)$/.exec(url) ?? []
  if (name === undefined || rest === undefined) return null
  return { name, rest: rest.startsWith('/') ? rest : `/${rest}` }
}
