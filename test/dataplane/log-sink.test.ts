/** Log lines on their way to the control plane: in order, whole, and bounded while it is away. */
import { expect, test } from 'vitest'
import { LogSink } from '../../src/dataplane/log-sink.ts'
import { scriptedControlPlane } from './control-plane.ts'

const claim = { claimId: 'c', token: '1' }
const revision = { id: 'r', attempt: 1 }

test('long lines are kept up to a million characters while the control plane is away, and it is said how many were dropped', async () => {
  const plane = scriptedControlPlane()
  plane.outage = new Error('away')
  const sink = new LogSink(plane, claim)
  const log = sink.of(revision)
  for (let i = 0; i < 300; i++) log.write('deploy', `${i} ${'x'.repeat(8000)}`)
  await sink.flush()
  plane.outage = null
  await sink.flush()
  log.write('deploy', 'again')
  await sink.flush()
  const numbers = plane.logged.map((line) => Number.parseInt(line, 10)).filter((n) => !Number.isNaN(n))
  expect(numbers).toEqual(Array.from({ length: 125 }, (_, i) => i))
  expect(plane.logged.slice(125)).toEqual(['… 175 lines were dropped', 'again'])
  sink.close()
})

test('what can’t be stored keeps no line from being sent', async () => {
  const plane = scriptedControlPlane()
  const sink = new LogSink(plane, claim)
  sink.of(revision).write('deploy', 'a\0b\ud800c')
  await sink.flush()
  expect(plane.logged).toEqual(['a\ufffdb\ufffdc'])
  sink.close()
})

test('a control plane that is away is not asked for every line that is printed', async () => {
  const plane = scriptedControlPlane()
  plane.outage = new Error('away')
  let asked = 0
  const logs: typeof plane.logs = (request) => {
    asked++
    return plane.logs(request)
  }
  const sink = new LogSink({ ...plane, logs }, claim)
  const log = sink.of(revision)
  for (let i = 0; i < 1000; i++) {
    log.write('deploy', `${i}`)
    await new Promise(setImmediate)
  }
  expect(asked).toBe(1)
  plane.outage = null
  await sink.flush()
  expect(plane.logged).toHaveLength(1000)
  sink.close()
})

test('a line that is written just when the last one was sent is sent, and waited for', async () => {
  const plane = scriptedControlPlane()
  let late: Promise<void> | undefined
  const logs: typeof plane.logs = async (request) => {
    await new Promise(setImmediate)
    await plane.logs(request)
    if (late) return
    // runs when the sink has looked for the last time, and not yet said that it is through
    late = Promise.resolve()
      .then(() => undefined)
      .then(() => {
        log.write('deploy', 'late')
        return sink.flush()
      })
  }
  const sink = new LogSink({ ...plane, logs }, claim)
  const log = sink.of(revision)
  log.write('deploy', 'first')
  await sink.flush()
  await late
  expect(plane.logged).toEqual(['first', 'late'])
  sink.close()
})
