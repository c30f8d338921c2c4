/** A call of an agent as the user writes it, and the same call as a curl command. */

export interface CallRequest {
  method: string
  /** with its query */
  path: string
  /** one NAME: VALUE per line */
  headers: string
  body: string
}

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
export const hasBody = ({ method }: Pick<CallRequest, 'method'>): boolean => method !== 'GET' && method !== 'HEAD'

/** Returns name and value of each line; a text: what is wrong. */
export function parseHeaders(text: string): [name: string, value: string][] | string {
  const found: [string, string][] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const [, name, value] = /^\s*([\w!#$%&'*+.^`|~-]+):\s*(.*?)\s*$/.exec(line) ?? []
    if (name === undefined || value === undefined) return `Line ${index + 1} must be NAME: VALUE.`
    found.push([name, value])
  }
  return found
}

/** All headers of the call, with a Content-Type for a body in JSON. Null: they are not valid. */
export function headersOf(request: CallRequest): [name: string, value: string][] | null {
  const headers = parseHeaders(request.headers)
  if (typeof headers === 'string') return null
  const isTyped = headers.some(([name]) => name.toLowerCase() === 'content-type')
  if (isTyped || !hasBody(request) || parseJson(request.body) === undefined) return headers
  return [...headers, ['Content-Type', 'application/json']]
}

/** Undefined: it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Null: the path leads to another host, or is not valid. */
export function targetOf(url: string, path: string): URL | null {
  const target = url.replace(/\/$/, '') + path
  if (!path.startsWith('/') || !URL.canParse(target)) return null
  return new URL(target).origin === new URL(url).origin ? new URL(target) : null
}

/** The names of headers that browsers don't let a page send. */
export function unsentHeaders(request: CallRequest): string[] {
  try {
    const { headers } = new Request(location.origin, { headers: headersOf(request) ?? [] })
    return (headersOf(request) ?? []).map(([name]) => name).filter((name) => !headers.has(name))
  } catch {
    return []
  }
}

/** Quotes text for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The key is a variable of the shell, and the session has no part in it. */
export function curlCommand(request: CallRequest, target: URL, isPublic: boolean): string {
  const { method, body } = request
  const headers = headersOf(request) ?? []
  const hasKey = isPublic || headers.some(([name]) => name.toLowerCase() === 'x-api-key')
  const verb = method === 'GET' ? '' : method === 'HEAD' ? ' --head' : ` -X ${method}`
  return [
    `curl -sSN${verb} ${quoted(target.href)}`,
    ...(hasKey ? [] : ['-H "X-Api-Key: $PILOTHOUSE_API_KEY"']),
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(hasBody(request) && body !== '' ? [`--data-raw ${quoted(body)}`] : []),
  ].join(' \\\n  ')
}
