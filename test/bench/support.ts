/** What the benches share: calls to the server that is measured, and how a figure is said. */

export function say(what: string, figure: string): void {
  process.stdout.write(`${what.padEnd(62)} ${figure}\n`)
}

/** Calls of an admin. Throws with the answer when it is an error. `url`: asked at each call. */
export function caller(url: () => string, key: string) {
  // biome-ignore lint/suspicious/noExplicitAny: bodies as the API presents them
  return async (method: string, target: string, body?: unknown): Promise<any> => {
    const response = await fetch(url() + target, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const answer = await response.json()
    if (!response.ok || answer.errors) throw new Error(JSON.stringify(answer))
    return answer
  }
}
