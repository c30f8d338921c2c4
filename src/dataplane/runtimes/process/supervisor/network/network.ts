/**
 * The network process of a supervisor: parses requests, under a separate account when the keeper is root. It knows the
 * address and the upstream, but no secret and no file. It ends when its keeper ends.
 */
import { backoff, sleep } from '../../../../../platform/async/retry.ts'
import { askReady } from './ask.ts'
import type { FromNetwork, NetworkState, ToNetwork } from './messages.ts'
import { AppProxy } from './proxy.ts'

/** Signals to the keeper's process group reach this process, too. It must answer until the keeper ends it. */
const IGNORED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** shortest time between two `served` messages */
const SERVED_MS = 60_000

export function runNetwork(): void {
  let served = Number.NEGATIVE_INFINITY
  const proxy = new AppProxy(() => {
    if (performance.now() - served < SERVED_MS) return
    served = performance.now()
    say({ said: 'served' })
  })
  let resume: (() => void) | null = null
  let address: NetworkState['address'] = null
  for (const signal of IGNORED) process.on(signal, () => undefined)
  const say = (message: FromNetwork) => process.connected && process.send?.(message)

  /** Retries without limit: an ending supervisor or another program may still have the port. */
  async function listen(wanted: NonNullable<NetworkState['address']>): Promise<void> {
    proxy.leave()
    for (let tries = 0; address === wanted; tries++) {
      try {
        await proxy.listen(wanted.port, wanted.host)
        say({ said: 'listening', port: wanted.port, problem: null })
        return
      } catch (error) {
        say({ said: 'listening', port: wanted.port, problem: (error as NodeJS.ErrnoException).code ?? 'unknown' })
      }
      await sleep(backoff(Math.max(0, tries - 10), 200, 5000))
    }
  }

  function apply({ address: next, upstream, held, ending }: NetworkState): void {
    proxy.point(upstream)
    proxy.ending(ending)
    if (held) resume ??= proxy.pause()
    else {
      resume?.()
      resume = null
    }
    if (address?.port === next?.port && address?.host === next?.host) return
    address = next
    if (next) void listen(next)
    else proxy.leave()
  }

  async function hear(message: ToNetwork): Promise<void> {
    switch (message.do) {
      case 'apply':
        apply(message.wanted)
        say({ said: 'applied', version: message.version })
        break
      case 'ask':
        say({ said: 'answered', id: message.id, ...(await askReady(message.port, message.path)) })
        break
      case 'watch':
        await proxy.idle(message.upstream)
        say({ said: 'idle', upstream: message.upstream })
        break
      case 'close':
        await proxy.close()
        say({ said: 'closed' })
        break
    }
  }

  process.on('message', (message: ToNetwork) => void hear(message))
  process.on('disconnect', () => process.exit())
}
