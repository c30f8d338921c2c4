/** One held deployment, without a cluster and without a worker: when it lets go, and which of two answers counts. */
import pino from 'pino'
import { expect, test, vi } from 'vitest'
import { ClaimRunner, type ClaimRunnerOptions } from '../../src/dataplane/worker/claim-runner.ts'
import { StuckError } from '../../src/dataplane/worker/stop-step.ts'
import { withTimeLimits } from '../../src/dataplane/worker/worker.ts'
import { ClaimLostError } from '../../src/domain/errors/errors.ts'
import type { Claim, CompleteRequest, ControlPlane } from '../../src/domain/protocol/protocol.ts'
import { recordingRuntime } from '../listener/support.ts'
import { scriptedControlPlane } from './control-plane.ts'
import { eventually, stepOf } from './support.ts'

function hold(changes: Partial<Claim>, options: Partial<ClaimRunnerOptions> = {}) {
  const controlPlane = scriptedControlPlane(changes)
  const runtime = recordingRuntime()
  const { claim1: claim } = controlPlane
  const said: string[] = []
  const log = pino({ level: 'info' }, { write: (line) => void said.push(JSON.parse(line).msg) })
  const runner = new ClaimRunner({ controlPlane, runtime, log, claim, leasedAt: performance.now(), ...options })
  return { controlPlane, runtime, claim, runner, said }
}

test.each([
  [6, 1500],
  [30, 5000],
])('a lease of %i s is given up %i ms before its end, and nothing is written from then on', (leaseSeconds, margin) => {
  vi.useFakeTimers()
  try {
    const { runner } = hold({ leaseSeconds })
    vi.advanceTimersByTime(leaseSeconds * 1000 - margin - 1)
    expect([runner.ended, runner.claim.leaseValid()]).toEqual([false, true])
    // one ms for what may have arrived and was not read yet
    vi.advanceTimersByTime(2)
    expect([runner.ended, runner.claim.leaseValid()]).toEqual([true, false])
  } finally {
    vi.useRealTimers()
  }
})

test('a response that arrives after a newer one changes nothing', async () => {
  const { runner, runtime, claim } = hold({ generation: 5 })
  await eventually(() => runtime.serving.has(claim.deployment.id))
  const old = { ...claim, generation: 4, step: stepOf('PROVISION', null) }
  runner.update(old)
  runner.update({ ...old, generation: 5 })
  // what they would have begun has begun by then
  await new Promise(setImmediate)
  expect(runtime.asked).toEqual([])
  expect(runner.heartbeat().generation).toBe(5)
  runner.update({ ...old, generation: 6 })
  expect(await eventually(() => runtime.asked.length === 1)).toBe(true)
  expect(runner.heartbeat().generation).toBeGreaterThanOrEqual(6)
  await runner.release()
  expect(runtime.asked).toEqual([`provision ${claim.deployment.id}`])
})

test('while a builder has the build nothing is removed: what it has pushed is not known to be kept yet', async () => {
  const { runner, runtime, claim } = hold({ generation: 1, builder: { stepId: 'b', holder: 'build-1' } })
  const pruned: string[][] = []
  runtime.prune = async (_id, keep) => void pruned.push(keep)
  await eventually(() => runtime.serving.has(claim.deployment.id))
  const { builder: _, ...over } = claim
  runner.update({ ...over, generation: 2, builder: { stepId: 'b', holder: null } })
  runner.update({ ...over, generation: 3, keepArtifacts: ['image:pushed'] })
  expect(await eventually(() => pruned.length > 0)).toBe(true)
  expect(pruned).toEqual([['image:pushed']])
  await runner.release()
})

test('a holder that could not renew its lease in time is heard of again, so that the try does not count', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
  const { controlPlane, runner, claim } = hold({ leaseSeconds: 6 })
  vi.advanceTimersByTime(6000)
  vi.useRealTimers()
  await runner.over
  expect(await eventually(() => controlPlane.released.includes(claim.claimId))).toBe(true)
})

/** Starts a step that ignores its signal. */
async function deaf(onStuck: (error: Error) => void = () => undefined) {
  const step = stepOf('PROVISION', null)
  const held = hold({ generation: 1, step }, { stopMs: 50, onStuck })
  const { runtime } = held
  let reject: (error: Error) => void = () => undefined
  runtime.provision = () => {
    runtime.asked.push('provision')
    return new Promise((_resolve, fail) => {
      reject = fail
    })
  }
  runtime.destroy = async (stepId) => {
    runtime.asked.push(`destroy ${stepId === step.id}`)
    reject(new Error('destroyed'))
  }
  await eventually(() => runtime.asked.length === 1)
  return held
}

test('a claim that ran out while the control plane was away is given back when that is there again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
  let calls = 0
  const { controlPlane, runner } = hold({ leaseSeconds: 6 })
  const heard = new Promise<void>((resolve) => {
    controlPlane.release = async () => {
      calls++
      if (calls === 1) throw new Error('the database is away')
      resolve()
    }
  })
  vi.advanceTimersByTime(6000)
  vi.useRealTimers()
  await runner.over
  await heard
  expect(calls).toBe(2)
})

test('a step that does not stop when it is told to is ended by force, and its deployment given up', async () => {
  const { runner, controlPlane, runtime, claim } = await deaf()
  runner.update({ ...claim, step: null, stop: true, generation: 2 })
  await runner.over
  expect(runtime.asked).toEqual(['provision', 'destroy true'])
  expect(controlPlane.released).toEqual([claim.claimId])
})

test('a claim whose step does not stop is over once that was ended by force, and the next one can begin', async () => {
  const { runner } = await deaf()
  void runner.lost()
  await runner.over
})

test('a step that not even force ends is told, so that the process can end', async () => {
  const stuck = new Promise<Error>((resolve) => {
    void deaf(resolve).then(({ runner, runtime }) => {
      runtime.destroy = () => Promise.reject(new Error('in the kernel'))
      void runner.lost()
    })
  })
  expect(await stuck).toBeInstanceOf(StuckError)
})

test('a report that is not answered is made again', async () => {
  const step = stepOf('PROVISION', null)
  const plane = scriptedControlPlane({ step })
  let asked = 0
  const complete = (request: CompleteRequest) =>
    ++asked === 1 ? new Promise<never>(() => undefined) : plane.complete(request)
  const { runner } = hold({}, { controlPlane: withTimeLimits({ ...plane, complete }, 50), claim: plane.claim1 })
  expect((await plane.done(step.id)).outcome).toBe('succeeded')
  expect(asked).toBe(2)
  await runner.release()
})

test('a claim whose token was raised is not lost by calls that still named the old one', async () => {
  const step = stepOf('PROVISION', null)
  const plane = scriptedControlPlane({ step, token: '3' })
  const named: string[] = []
  const { runner } = hold(
    {},
    {
      claim: plane.claim1,
      controlPlane: {
        ...plane,
        raiseToken: async () => '8',
        async complete(request) {
          named.push(request.token)
          if (request.token === '8') return plane.complete(request)
          // it was on its way when the token was raised
          await runner.claim.raiseToken('7')
          throw new ClaimLostError()
        },
      },
    },
  )
  expect((await plane.done(step.id)).outcome).toBe('succeeded')
  await runner.refused('3')
  expect([named, runner.ended, runner.heartbeat().token]).toEqual([['3', '8'], false, '8'])
  await runner.refused('8')
  expect(runner.ended).toBe(true)
})

test('a heartbeat that hears of the end of a claim before the report that ended it was answered loses nothing', async () => {
  const step = stepOf('PROVISION', null)
  let answer: (ended: Awaited<ReturnType<ControlPlane['complete']>>) => void = () => undefined
  const { runner, controlPlane, claim, said } = hold({ generation: 1, step })
  const reported = new Promise<void>((resolve) => {
    controlPlane.complete = () => {
      resolve()
      return new Promise((done) => {
        answer = done
      })
    }
  })
  await reported
  const refused = runner.refused(claim.token)
  await new Promise(setImmediate)
  expect(runner.ended).toBe(false)
  answer({ recorded: true, assignment: { ...claim, step: null, generation: 2 }, over: true })
  await refused
  await runner.over
  expect(said).not.toContain('A claim was lost')
})
