/** A proxy in front of a registry that never answers some requests, so that a build stays in its phase. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'

export interface StallingProxy {
  /** `127.0.0.1:port` */
  host: string
  /** Resolves when a request like `GET /path` is stalled. */
  stalled(request: RegExp): Promise<void>
  close(): void
}

/** `target`: host and port of the registry. Requests that match `hold` are never answered. */
export async function startStallingProxy(target: string, hold: RegExp[]): Promise<StallingProxy> {
  const requests: string[] = []
  const looks = new Set<() => void>()
  const server = http.createServer((request, response) => {
    const line = `${request.method} ${request.url}`
    if (hold.some((pattern) => pattern.test(line))) {
      requests.push(line)
      for (const look of looks) look()
      return
    }
    const [hostname, port] = target.split(':')
    const options = { hostname, port, path: request.url, method: request.method, headers: request.headers }
    const onward = http.request(options, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      pipeline(answer, response, () => undefined)
    })
    pipeline(request, onward, (error) => error && response.destroy())
  })
  server.on('clientError', (_, socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    stalled: (pattern) =>
      new Promise((resolve) => {
        const look = () => {
          if (!requests.some((line) => pattern.test(line))) return
          looks.delete(look)
          resolve()
        }
        looks.add(look)
        look()
      }),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
