/**
 * The network process of a supervisor: parses requests, under a separate account when the keeper is root. It knows the
 * address and the upstream, but no secret and no file. It ends when its keeper ends.
 */
import http from 'node:http'
import { backoff, sleep } from '../../../../platform/async/retry.ts'
import type { FromNetwork, HealthAnswer, NetworkState, ToNetwork } from './messages.ts'
import { AppProxy } from './proxy.ts'

/** Signals to the keeper's process group reach this process, too. It must answer until the keeper ends it. */
const IGNORED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const SERVED_INTERVAL_MS = 60_000

export function runNetwork(): void {
  let served = Number.NEGATIVE_INFINITY
  const proxy = new AppProxy(() => {
    if (performance.now() - served < SERVED_INTERVAL_MS) return
    served = performance.now()
    send({ say: 'served' })
  })
  let resume: (() => void) | null = null
  let address: NetworkState['address'] = null
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => undefined)
  const send = (message: FromNetwork) => process.connected && process.send?.(message)

  /** Retries without limit: an ending supervisor or another program may still have the port. */
  async function listen(target: NonNullable<NetworkState['address']>): Promise<void> {
    proxy.stopListening()
    for (let tries = 0; address === target; tries++) {
      try {
        await proxy.listen(target.port, target.host)
        send({ say: 'listening', port: target.port, problem: null })
        return
      } catch (error) {
        send({ say: 'listening', port: target.port, problem: (error as NodeJS.ErrnoException).code ?? 'unknown' })
      }
      await sleep(backoff(Math.max(0, tries - 10), 200, 5000))
    }
  }

  function apply({ address: next, upstream, held, ending }: NetworkState): void {
    proxy.setUpstream(upstream)
    proxy.markEnding(ending)
    if (held) resume ??= proxy.pause()
    else {
      resume?.()
      resume = null
    }
    if (address?.port === next?.port && address?.host === next?.host) return
    address = next
    if (next) void listen(next)
    else proxy.stopListening()
  }

  async function perform(request: ToNetwork): Promise<HealthAnswer | null> {
    if (request.do === 'health') return requestHealth(request.port, request.path)
    if (request.do === 'apply') apply(request.state)
    else if (request.do === 'idle') await proxy.idle(request.upstream)
    else await proxy.close()
    return null
  }

  process.on('message', (request: ToNetwork) => {
    void perform(request).then((health) => send({ say: 'answer', id: request.id, health }))
  })
  process.on('disconnect', () => process.exit())
}

async function requestHealth(port: number, path: string): Promise<HealthAnswer> {
  let answer: HealthAnswer = { host: '127.0.0.1', status: null }
  for (const host of ['127.0.0.1', '::1']) {
    const status = await getStatus(host, port, path)
    if (status === 200) return { host, status }
    if (status !== null) answer = { host, status }
  }
  return answer
}

function getStatus(host: string, port: number, path: string): Promise<number | null> {
  return new Promise((resolve) => {
    const request = http.get({ host, port, path, agent: false, timeout: 5000 }, (response) => {
      response.resume()
      resolve(response.statusCode ?? null)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(null))
  })
}
