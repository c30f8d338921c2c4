// The worker with the real process runtime, against a scripted control plane.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startWorker, type Worker } from '../../src/dataplane/worker/worker.ts'
import { type ScriptedControlPlane, scriptedControlPlane } from './control-plane.ts'
import {
  alive,
  eventually,
  openTestMachine,
  PID_SERVER,
  revisionOf,
  runOf,
  stepOf,
  type TestMachine,
} from './support.ts'

let place: TestMachine
let worker: Worker | null = null
beforeAll(async () => {
  place = await openTestMachine()
})
afterEach(async () => {
  await worker?.stop()
  await place.restart()
})
afterAll(() => place.close())

async function start(controlPlane: ScriptedControlPlane, leaseSeconds = 15): Promise<Worker> {
  worker = await startWorker({ controlPlane, runtime: place.runtime, leaseSeconds, log: pino({ level: 'silent' }) })
  return worker
}

/** Runs a deployment until its agent serves. Returns its address and the agent's process. */
async function running(leaseSeconds = 15) {
  const repository = place.repository({ 'server.mjs': PID_SERVER })
  const revision = revisionOf(repository)
  const build = stepOf('BUILD', revision)
  const plane = scriptedControlPlane({ step: stepOf('PROVISION', null) })
  plane.next = (request) => {
    if (request.artifact) {
      const artifact = { ...revision, artifact: request.artifact }
      return { step: stepOf('DEPLOY', artifact), keepArtifacts: [request.artifact] }
    }
    if (request.url) return { step: null, run: runOf(plane.claim1.step!.revision!) }
    return { step: build }
  }
  await start(plane, leaseSeconds)
  const deployed = await eventually(() => plane.completed.find((request) => request.url), 50_000)
  const url = deployed!.url!
  const pid = Number(await (await fetch(url)).text())
  return { plane, url, pid, repository }
}

test('a deployment runs step by step from its claim to a serving agent, which keeps serving when the worker stops', async () => {
  const { plane, url, pid, repository } = await running()
  expect(plane.completed.map(({ outcome }) => outcome)).toEqual(['succeeded', 'succeeded', 'succeeded'])
  expect(plane.completed[1]!.repoCommitSha).toBe(repository.head())
  expect(plane.logged).toContain('$ npm ci')
  const begin = performance.now()
  await worker!.stop()
  expect(performance.now() - begin).toBeLessThan(8000)
  expect(plane.released).toEqual([plane.claim1.claimId])
  expect(Number(await (await fetch(url)).text())).toBe(pid)
})

test('a failed step is reported with advice and not repeated', async () => {
  const repository = place.repository({ 'graph.json': null })
  const step = stepOf('BUILD', revisionOf(repository))
  const plane = scriptedControlPlane({ step })
  await start(plane)
  expect(await plane.done(step.id)).toMatchObject({
    outcome: 'failed',
    message: expect.stringMatching(/no file/),
    repoCommitSha: repository.head(),
  })
  const before = plane.heartbeats
  plane.assign({ step })
  await eventually(() => plane.heartbeats > before)
  expect(plane.completed).toHaveLength(1)
})

test('a failed build with 20,000 lines of output logs its error and the number of omitted lines', async () => {
  const command = 'seq 20000; echo "Error: it is broken" >&2; exit 1'
  const step = stepOf('BUILD', revisionOf(place.repository(), { installCommand: 'true', buildCommand: command }))
  const plane = scriptedControlPlane({ step })
  await start(plane)
  expect(await plane.done(step.id)).toMatchObject({ outcome: 'failed', reason: 'BUILD_COMMAND_FAILED' })
  const failed = () => plane.logged.findIndex((line) => line.startsWith('Build command '))
  expect(await eventually(() => failed() > 0)).toBe(true)
  const begin = plane.logged.indexOf(`$ ${command}`)
  const printed = plane.logged.slice(begin + 1, failed())
  expect(printed).toContain('Error: it is broken')
  const left = printed.map((line) => Number(/^… (\d+) lines? w/.exec(line)?.[1] ?? 1))
  expect(left.reduce((sum, count) => sum + count, 0)).toBe(20_001)
  expect(Math.max(...left)).toBeGreaterThan(1)
})

test('a build that fails before its checkout reports no commit', async () => {
  const step = stepOf('BUILD', revisionOf(place.repository(), { repoRef: 'nowhere' }))
  const plane = scriptedControlPlane({ step })
  await start(plane)
  const report = await plane.done(step.id)
  expect(report.outcome).toBe('failed')
  expect(report).not.toHaveProperty('repoCommitSha')
})

test('a withdrawn step is stopped and reported when it has ended', async () => {
  const repository = place.repository()
  const step = stepOf('BUILD', revisionOf(repository, { installCommand: 'echo pid $$; sleep 100' }))
  const plane = scriptedControlPlane({ step })
  await start(plane)
  const line = await eventually(() => plane.logged.find((text) => text.startsWith('pid ')))
  const pid = Number(line!.slice(4))
  plane.assign({ step: null, stop: true })
  expect(await plane.done(step.id)).toMatchObject({ outcome: 'stopped', repoCommitSha: repository.head() })
  expect(alive(pid)).toBe(false)
})

test('a withdrawn step that never arrived costs the claim, but not the deployment’s next step', async () => {
  const plane = scriptedControlPlane({ step: null })
  await start(plane)
  await eventually(() => plane.heartbeats > 0)
  plane.assign({ step: null, stop: true })
  expect(await eventually(() => plane.released[0])).toBe(plane.claim1.claimId)
  expect(plane.completed).toEqual([])
})

test('a replacing step starts when the replaced one has ended', async () => {
  const first = stepOf('BUILD', revisionOf(place.repository(), { installCommand: 'echo begun; sleep 100' }))
  const second = stepOf('BUILD', revisionOf(place.repository()))
  const plane = scriptedControlPlane({ step: first })
  plane.next = (request) => ({ step: request.stepId === first.id ? second : null })
  await start(plane)
  await eventually(() => plane.logged.includes('begun'))
  plane.assign({ step: null, stop: true })
  expect(await plane.done(second.id)).toMatchObject({ outcome: 'succeeded' })
  expect(plane.completed.map(({ stepId }) => stepId)).toEqual([first.id, second.id])
})

/** Starts a slow build. Resolves with its process. */
async function building(plane: ScriptedControlPlane): Promise<number> {
  const step = stepOf('BUILD', revisionOf(place.repository(), { installCommand: 'echo pid $$; sleep 100' }))
  plane.assign({ step })
  const line = await eventually(() => plane.logged.find((text) => text.startsWith('pid ')))
  return Number(line!.slice(4))
}

test('a lost claim ends its step immediately without a report, and the agent keeps serving', async () => {
  const { plane, url, pid } = await running()
  const step = await building(plane)
  const reported = plane.completed.length
  plane.lost = true
  plane.assign({})
  expect(await eventually(() => !alive(step))).toBe(true)
  await worker!.stop()
  expect(plane.completed).toHaveLength(reported)
  expect(plane.released).toEqual([])
  expect(Number(await (await fetch(url)).text())).toBe(pid)
})

test('a worker that can’t renew its lease ends the step before the lease expires, and the agent keeps serving', async () => {
  const { plane, url, pid } = await running(6)
  const step = await building(plane)
  const lastHeartbeat = plane.heartbeats
  await eventually(() => plane.heartbeats > lastHeartbeat)
  const renewed = performance.now()
  plane.outage = new Error('database away')
  expect(await eventually(() => !alive(step))).toBe(true)
  expect(performance.now() - renewed).toBeLessThan(6000)
  expect(Number(await (await fetch(url)).text())).toBe(pid)
  plane.outage = null
})

test('a result that can’t be reported is kept until the control plane is available', async () => {
  const step = stepOf('BUILD', revisionOf(place.repository(), { installCommand: 'echo begun; sleep 1' }))
  const plane = scriptedControlPlane({ step })
  await start(plane)
  await eventually(() => plane.logged.includes('begun'))
  plane.outage = new Error('database away')
  await eventually(() => plane.refused > 2)
  plane.outage = null
  expect(await plane.done(step.id)).toMatchObject({ outcome: 'succeeded' })
  expect(plane.completed).toHaveLength(1)
})

test('a worker that could not release its claims stays registered, so that the next one releases them', async () => {
  const folder = `${place.options.dataDir}/workers`
  const plane = scriptedControlPlane()
  await start(plane, 1)
  await eventually(() => plane.heartbeats > 0)
  await worker!.stop()
  expect(fs.readdirSync(folder)).toEqual([])

  const away = scriptedControlPlane()
  const { holder } = await start(away, 1)
  await eventually(() => away.heartbeats > 0)
  away.outage = new Error('database away')
  await worker!.stop()
  const [file, ...others] = fs.readdirSync(folder)
  expect([decodeURIComponent(file!), others]).toEqual([`${holder}.json`, []])
  fs.rmSync(`${folder}/${file}`)
})

test('a worker continues when the folder of registered workers is deleted', async () => {
  const folder = `${place.options.dataDir}/workers`
  fs.rmSync(folder, { recursive: true })
  await expect(place.runtime.releaseDeadHolders(async () => {})).resolves.toBeUndefined()
  fs.mkdirSync(folder)
})

test('a killed worker’s claims are released by the next worker on the same machine', async () => {
  const script = fileURLToPath(new URL('killed-worker.ts', import.meta.url))
  const killed = spawnSync(process.execPath, ['--import', 'tsx', script, place.options.dataDir], { encoding: 'utf8' })
  expect(killed.signal).toBe('SIGKILL')
  const plane = scriptedControlPlane()
  const { holder } = await start(plane)
  await eventually(() => plane.releasedHolders.length > 0)
  expect(plane.releasedHolders).toEqual(['the-killed-one'])
  expect(plane.releasedHolders).not.toContain(holder)
})
