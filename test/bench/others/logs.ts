/**
 * Follows a log while ten thousand lines a second are inserted, and a log with as many stored lines: whether all lines
 * arrive in order, their delay, memory, and the effect on other clients.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { App } from '../../../src/app/app.ts'
import { writeLog } from '../../support/log.ts'
import type { Followed } from './log-follower.ts'
import { withApp } from './own-app.ts'
import { caller, say } from './support.ts'

const LINES = Number(process.env.BENCH_LOG_LINES ?? 100_000)
const LINES_PER_SECOND = 10_000
/** Lines per call. */
const LINES_PER_CALL = 250
const FOLLOWER = fileURLToPath(new URL('./log-follower.ts', import.meta.url))
const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`

export const followedLogs = (): Promise<void> => withApp(measure, { LOG_LINES_PER_REVISION: '10000000' })

async function measure(app: App, key: string): Promise<void> {
  const call = caller(app.publicUrl, key)
  const { id, latest_revision_id: revisionId } = await call('POST', '/v2/deployments', {
    name: `bench-${randomUUID()}`,
    source: 'internal_container',
    source_config: {},
    source_revision_config: { image_uri: 'agent:1' },
    secrets: [],
  })
  const target = `/v2/deployments/${id}/revisions/${revisionId}/logs?type=deploy&follow=true`

  const memory = watchMemory()
  const live = follow(app.publicUrl() + target, key)
  await live.following
  const began = performance.now()
  await insert(app, revisionId)
  const seconds = (performance.now() - began) / 1000
  const arrived = await live.done
  say(`${LINES} lines inserted, a second`, `${Math.round(LINES / seconds)}`)
  say('  of them at a follower; out of order; lag p50, p99, max', sayFollowed(arrived))
  const { before, peak } = memory.stop()
  say(
    '  memory of the server (RSS) before, at most, after',
    `${mib(before)}  ${mib(peak)}  ${mib(process.memoryUsage.rss())}`,
  )

  const others = watchOthers(() => call('GET', `/v2/deployments/${id}`))
  const again = watchMemory()
  const stored = await follow(app.publicUrl() + target, key).done
  say(
    `${LINES} stored lines at a follower, ms`,
    `${stored.ms}  ${stored.lines} lines, ${stored.outOfOrder} out of order`,
  )
  say('  a GET of another client in that time, p50, p99', await others.stop())
  say('  memory of the server (RSS) before, at most', `${mib(before)}  ${mib(again.stop().peak)}`)
}

const sayFollowed = ({ lines, outOfOrder, lag: [p50, p99, most] }: Followed) =>
  `${lines}  ${outOfOrder}  ${p50}  ${p99}  ${most}`

/** Inserts in calls of LINES_PER_CALL lines, each at its time; a late call doesn't delay the next. */
async function insert({ core }: App, revisionId: string): Promise<void> {
  const began = performance.now()
  for (let from = 0; from < LINES; from += LINES_PER_CALL) {
    const early = (from / LINES_PER_SECOND) * 1000 - (performance.now() - began)
    if (early > 0) await sleep(early)
    const now = new Date()
    const message = (n: number) => `${from + n} ${now.getTime()} ${'a line as agents print them '.repeat(3)}`
    const line = { revisionId, attempt: 1, type: 'deploy' as const, level: 'info' as const, time: now }
    await writeLog(
      core,
      Array.from({ length: LINES_PER_CALL }, (_, n) => ({ ...line, message: message(n) })),
    )
  }
}

function follow(url: string, key: string): { following: Promise<void>; done: Promise<Followed> } {
  const child = spawn(process.execPath, ['--import', 'tsx', FOLLOWER, url, key, String(LINES)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said = createInterface(child.stdout)[Symbol.asyncIterator]()
  const following = said.next().then(({ done }) => {
    if (done) throw new Error('the follower has ended')
  })
  const done = following.then(async () => JSON.parse((await said.next()).value) as Followed)
  done.catch(() => undefined)
  return { following, done }
}

function watchMemory(): { stop(): { before: number; peak: number } } {
  const before = process.memoryUsage.rss()
  let peak = before
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 20)
  return {
    stop() {
      clearInterval(timer)
      return { before, peak }
    },
  }
}

/** Calls repeatedly until stopped; returns the durations. */
function watchOthers(call: () => Promise<unknown>): { stop(): Promise<string> } {
  const took: number[] = []
  let stopped = false
  const calls = (async () => {
    while (!stopped) {
      const began = performance.now()
      await call()
      took.push(performance.now() - began)
    }
  })()
  return {
    async stop() {
      stopped = true
      await calls
      took.sort((a, b) => a - b)
      return [0.5, 0.99].map((share) => took[Math.floor(share * (took.length - 1))]!.toFixed(1)).join('  ')
    },
  }
}
