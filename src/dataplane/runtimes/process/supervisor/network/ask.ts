/** Asks an agent whether it is ready. */
import http from 'node:http'

/** The status of a GET of `path` on that port of the loopback, and the host that answered. null: no answer. */
export async function askReady(port: number, path: string): Promise<{ host: string; status: number | null }> {
  let answered: { host: string; status: number | null } = { host: '127.0.0.1', status: null }
  for (const host of ['127.0.0.1', '::1']) {
    const status = await ask(host, port, path)
    if (status === 200) return { host, status }
    if (status !== null) answered = { host, status }
  }
  return answered
}

function ask(host: string, port: number, path: string): Promise<number | null> {
  return new Promise((resolve) => {
    const request = http.get({ host, port, path, agent: false, timeout: 5000 }, (response) => {
      response.resume()
      resolve(response.statusCode ?? null)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(null))
  })
}
