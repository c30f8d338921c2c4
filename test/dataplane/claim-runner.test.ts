/** One claim without a cluster and a worker: when it is released, and which of two responses counts. */
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
])('a lease of %i s is given up %i ms before its end, and no write follows', (leaseSeconds, margin) => {
  vi.useFakeTimers()
  try {
    const { runner } = hold({ leaseSeconds })
    vi.advanceTimersByTime(leaseSeconds * 1000 - margin - 1)
    expect([runner.ended, runner.claim.leaseValid()]).toEqual([false, true])
    // one ms for a response that arrived and was not read yet
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
  // by then their steps would have started
  await new Promise(setImmediate)
  expect(runtime.asked).toEqual([])
  expect(runner.heartbeat().generation).toBe(5)
  runner.update({ ...old, generation: 6 })
  expect(await eventually(() => runtime.asked.length === 1)).toBe(true)
  expect(runner.heartbeat().generation).toBeGreaterThanOrEqual(6)
  await runner.release()
  expect(runtime.asked).toEqual([`provision ${claim.deployment.id}`])
})

test('an artifact is not pruned while a builder has the build, because its pushed image may not be recorded yet', async () => {
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

test('a holder that failed to renew its lease releases the claim, so that the attempt does not count', async () => {
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

test('a claim that expired during a control plane outage is released after it', async () => {
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

test('a step that ignores its stop is destroyed, and its claim is released', async () => {
  const { runner, controlPlane, runtime, claim } = await deaf()
  runner.update({ ...claim, step: null, stop: true, generation: 2 })
  await runner.over
  expect(runtime.asked).toEqual(['provision', 'destroy true'])
  expect(controlPlane.released).toEqual([claim.claimId])
})

test('a lost claim whose step ignores its stop ends when the step is destroyed', async () => {
  const { runner } = await deaf()
  void runner.lost()
  await runner.over
})

test('a step that can’t be destroyed is reported, so that the process can exit', async () => {
  const stuck = new Promise<Error>((resolve) => {
    void deaf(resolve).then(({ runner, runtime }) => {
      runtime.destroy = () => Promise.reject(new Error('in the kernel'))
      void runner.lost()
    })
  })
  expect(await stuck).toBeInstanceOf(StuckError)
})

test('a report without an answer is repeated', async () => {
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

test('a claim with a raised token survives refusals of calls with the old token', async () => {
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
          // the call is in flight when the token is raised
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

test('a claim’s end in a heartbeat, before the answer to its final report, is not logged as a loss', async () => {
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
