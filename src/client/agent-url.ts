/** The address of an agent for programs. Browsers and curl know names below localhost, and the resolvers of Node.js and Python don't. */

/**
 * `http://NAME.localhost:PORT` → `http://127.0.0.1:PORT/~NAME`. Any other URL of a deployment stays as it is. With `https` and a port
 * too: no certificate fits 127.0.0.1, so the door accepts connections of its machine without TLS.
 */
export function agentUrl(url: string): string {
  const [, scheme, name, port = ''] = /^(https?):\/\/([a-z0-9-]+)\.localhost(:\d+)?\/?$/.exec(url) ?? []
  const isReverseProxy = scheme === 'https' && port === ''
  return name === undefined || isReverseProxy ? url : `http://127.0.0.1${port}/~${name}`
}
