/** The health check of an agent: a GET on the loopback, by the process that has neither secrets nor rights. */
import http from 'node:http'
import type { HealthAnswer } from '../dataplane/process/door/messages.ts'

const TIMEOUT_MS = 5000

/** Tries both loopback addresses; returns the first 200, else the last answer. */
export async function requestHealth(port: number, path: string, ms = TIMEOUT_MS): Promise<HealthAnswer> {
  let answer: HealthAnswer = { host: '127.0.0.1', status: null }
  for (const host of ['127.0.0.1', '::1']) {
    const status = await getStatus(host, port, path, ms)
    if (status === 200) return { host, status }
    if (status !== null) answer = { host, status }
  }
  return answer
}

function getStatus(host: string, port: number, path: string, ms: number): Promise<number | null> {
  return new Promise((resolve) => {
    const request = http.get({ host, port, path, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? null)
    })
    // the answer may have no end
    const timeout = setTimeout(() => request.destroy(), ms)
    request.on('error', () => resolve(null)).on('close', () => clearTimeout(timeout))
  })
}
