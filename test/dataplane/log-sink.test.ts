/** Log lines on their way to the control plane: in order, complete, and limited while it is unavailable. */
import { expect, test } from 'vitest'
import { FencedClaim } from '../../src/dataplane/worker/fenced-claim.ts'
import { LogSink } from '../../src/dataplane/worker/log-sink.ts'
import { scriptedControlPlane } from './control-plane.ts'
import { claimOf } from './support.ts'

const claim = new FencedClaim(scriptedControlPlane(), claimOf())
const revision = { id: 'r', attempt: 1 }

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `${from + i}`)

test('the first and last of many lines are kept, with the number of lines left out between them', async () => {
  const plane = scriptedControlPlane()
  plane.outage = new Error('away')
  const sink = new LogSink(plane, claim)
  const log = sink.logOf(revision)
  log.write('build', '$ npm run build')
  for (let i = 0; i < 20_000; i++) log.print('build', `${i}`)
  log.write('build', 'of our own')
  for (let i = 20_000; i < 40_000; i++) log.print('build', `${i}`)
  log.print('build', 'Error: it is broken')
  log.write('build', 'Build command failed with exit code 1', 'error')
  await sink.flush()
  plane.outage = null
  await sink.flush()
  expect(plane.logged).toEqual([
    '$ npm run build',
    ...numbers(0, 2499),
    '… 17501 lines were left out',
    'of our own',
    '… 17502 lines were left out',
    ...numbers(37_502, 40_000),
    'Error: it is broken',
    'Build command failed with exit code 1',
  ])
  sink.close()
})

test('all printed lines are sent or counted while lines are being sent', async () => {
  const plane = scriptedControlPlane()
  const logs: typeof plane.logs = async (request) => {
    await new Promise(setImmediate)
    await plane.logs(request)
  }
  const sink = new LogSink({ ...plane, logs }, claim)
  const log = sink.logOf(revision)
  for (let i = 0; i < 20_000; i++) {
    log.print('deploy', `${i}`)
    if (i % 500 === 0) await new Promise(setImmediate)
  }
  await sink.flush()
  let next = 0
  for (const line of plane.logged) {
    const left = /^… (\d+) lines? w/.exec(line)
    if (!left) expect(line).toBe(`${next}`)
    next += left ? Number(left[1]) : 1
  }
  expect(next).toBe(20_000)
  expect(plane.logged.at(-1)).toBe('19999')
  sink.close()
})

test('while the control plane is unavailable, a million characters of output and a quarter million of own lines are kept', async () => {
  const plane = scriptedControlPlane()
  plane.outage = new Error('away')
  const sink = new LogSink(plane, claim)
  const log = sink.logOf(revision)
  for (let i = 0; i < 3000; i++) {
    log.print('deploy', 'x'.repeat(8000))
    log.write('deploy', `${i}`.padEnd(8000))
  }
  await sink.flush()
  plane.outage = null
  await sink.flush()
  const characters = plane.logged.reduce((sum, line) => sum + line.length, 0)
  expect(characters).toBeGreaterThan(1_200_000)
  expect(characters).toBeLessThan(1_300_000)
  const left = plane.logged.flatMap((line) => /^… (\d+) lines? w/.exec(line)?.[1] ?? [])
  expect(plane.logged.length - left.length + left.reduce((sum, count) => sum + Number(count), 0)).toBe(6000)
  sink.close()
})

test('characters that can’t be stored do not block a line', async () => {
  const plane = scriptedControlPlane()
  const sink = new LogSink(plane, claim)
  sink.logOf(revision).write('deploy', 'a\0b\ud800c')
  await sink.flush()
  expect(plane.logged).toEqual(['a\ufffdb\ufffdc'])
  sink.close()
})

test('an unavailable control plane does not get a request for each line', async () => {
  const plane = scriptedControlPlane()
  plane.outage = new Error('away')
  let asked = 0
  const logs: typeof plane.logs = (request) => {
    asked++
    return plane.logs(request)
  }
  const sink = new LogSink({ ...plane, logs }, claim)
  const log = sink.logOf(revision)
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

test('a line written during the last request is sent, and flush waits for it', async () => {
  const plane = scriptedControlPlane()
  let late: Promise<void> | undefined
  const logs: typeof plane.logs = async (request) => {
    await new Promise(setImmediate)
    await plane.logs(request)
    if (late) return
    // runs between the sink's last check and the end of its flush
    late = Promise.resolve()
      .then(() => undefined)
      .then(() => {
        log.write('deploy', 'late')
        return sink.flush()
      })
  }
  const sink = new LogSink({ ...plane, logs }, claim)
  const log = sink.logOf(revision)
  log.write('deploy', 'first')
  await sink.flush()
  await late
  expect(plane.logged).toEqual(['first', 'late'])
  sink.close()
})
