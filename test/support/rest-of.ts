/** Calls the REST API of a server in another process, or of any of several servers. */

/** `url`: the server's address, read at each call. Throws an unsuccessful answer. */
export const restOf =
  (url: () => string, key: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: a body as REST presents it
  async (method: string, target: string, body?: unknown): Promise<any> => {
    const response = await fetch(url() + target, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }
