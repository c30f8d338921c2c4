/** One held deployment, without a cluster and without a worker: when it lets go, and which of two answers counts. */
import pino from 'pino'
import { expect, test, vi } from 'vitest'
import { Holding } from '../../src/dataplane/holding.ts'
import type { Claim } from '../../src/domain/work/protocol.ts'
import { recordingRuntime } from '../listener/support.ts'
import { scriptedControlPlane } from './control-plane.ts'
import { eventually, stepOf } from './support.ts'

function hold(changes: Partial<Claim>) {
  const controlPlane = scriptedControlPlane(changes)
  const runtime = recordingRuntime()
  const { claim1: claim } = controlPlane
  const log = pino({ level: 'silent' })
  const holding = new Holding({ controlPlane, runtime, log, claim, leasedAt: performance.now() })
  return { controlPlane, runtime, claim, holding }
}

test.each([
  [6, 1500],
  [30, 5000],
])('a lease of %i s is given up %i ms before its end, and nothing is written from then on', (leaseSeconds, margin) => {
  vi.useFakeTimers()
  try {
    const { holding } = hold({ leaseSeconds })
    vi.advanceTimersByTime(leaseSeconds * 1000 - margin - 1)
    expect([holding.ended, holding.claim.held()]).toEqual([false, true])
    vi.advanceTimersByTime(1)
    expect([holding.ended, holding.claim.held()]).toEqual([true, false])
  } finally {
    vi.useRealTimers()
  }
})

test('an answer that was overtaken by a newer one changes nothing', async () => {
  const { holding, runtime, claim } = hold({ generation: 5 })
  await eventually(() => runtime.serving.has(claim.deployment.id))
  const old = { ...claim, generation: 4, step: stepOf('PROVISION', null) }
  holding.update(old)
  holding.update({ ...old, generation: 5 })
  // what they would have begun has begun by then
  await new Promise(setImmediate)
  expect(runtime.asked).toEqual([])
  expect(holding.heartbeat().generation).toBe(5)
  holding.update({ ...old, generation: 6 })
  expect(await eventually(() => runtime.asked.length === 1)).toBe(true)
  expect(holding.heartbeat().generation).toBeGreaterThanOrEqual(6)
  await holding.release(0)
  expect(runtime.asked).toEqual([`provision ${claim.deployment.id}`])
})

test('a holder that could not renew its lease in time is heard of again, so that the try does not count', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const { controlPlane, holding, claim } = hold({ leaseSeconds: 6 })
  vi.advanceTimersByTime(6000)
  vi.useRealTimers()
  await holding.over
  expect(await eventually(() => controlPlane.released.includes(claim.claimId))).toBe(true)
})
