/** The REST API of a server that is another process, or several of which one answers. */

/** `url`: of the server, asked for at each call. Throws what it answered if that is no success. */
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
