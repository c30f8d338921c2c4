/** Builds that end early, one at each thing that a build does: what they leave. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { ImageStore } from '../../src/dataplane/builder/image-store.ts'
import type { LeasedClaim, RevisionStep } from '../../src/dataplane/runtimes/runtime.ts'
import { claimOf, memoryLog, never } from '../dataplane/support.ts'
import { BASE } from '../support/engine/engine.ts'
import { type ImageBuilderFixture, NO_LEFTOVERS } from './image-builder.ts'
import { startStallingProxy } from './stalling-proxy.ts'

const PROGRAM = fileURLToPath(new URL('./killable-builder.ts', import.meta.url))

interface Stage {
  name: string
  claim: LeasedClaim
  step: RevisionStep
  /** Resolves when the build is there; it stays there, or for a while at least. */
  reached(printed: (line: RegExp) => Promise<unknown>): Promise<unknown>
}

/** One build for each stage, and where they push to. */
async function openStages(place: ImageBuilderFixture) {
  const fetch = /^GET \/nowhere\.git\//
  const pull = /^\w+ \/v2\/nowhere\//
  // of whichever build: none is to get that far
  const push = /^PUT \/v2\/workspace\/[^/]+\/manifests\/build-/
  const held = await startStallingProxy(place.registry.host, [fetch, pull, push])
  const dockerfile = (text: string) => place.step({ Dockerfile: text })
  const printed = (line: RegExp) => (seen: (line: RegExp) => Promise<unknown>) => seen(line)
  const stage = (name: string, step: RevisionStep, reached: Stage['reached']): Stage => {
    const claim = claimOf()
    return { name, claim, step, reached }
  }
  const elsewhere = place.step({}, { repoUrl: `http://${held.host}/nowhere.git` })
  const stages = [
    stage('fetch', elsewhere, () => held.stalled(fetch)),
    stage('pull of the base image', dockerfile(`FROM ${held.host}/nowhere/base:1\n`), () => held.stalled(pull)),
    stage('RUN', dockerfile(`FROM ${BASE}\nRUN echo under way; ${place.sleep}\n`), printed(/^under way/)),
    // what takes a moment to read
    stage('commit', dockerfile(`FROM ${BASE}\nRUN truncate -s 30M large\n`), printed(/^COMMIT /)),
    stage('push', dockerfile(`FROM ${BASE}\nRUN echo pushed > told\n`), () => held.stalled(push)),
  ]
  const { store } = place.registry
  const behind: ImageStore = {
    ...store,
    async repository(id, signal) {
      const repository = await store.repository(id, signal)
      return repository && { ...repository, name: repository.name.replace(place.registry.host, held.host) }
    },
  }
  return { stages, store: behind, host: held.host, close: held.close }
}

async function expectNoTags(place: ImageBuilderFixture, stages: Stage[]): Promise<void> {
  for (const { name, claim } of stages) expect(await place.registry.tags(claim.deployment.id), name).toEqual({})
}

export async function whenCancelled(place: ImageBuilderFixture): Promise<void> {
  const { stages, store, close } = await openStages(place)
  const builds = place.open({ store })
  await Promise.all(
    stages.map(async ({ name, claim, step, reached }) => {
      const log = memoryLog()
      const cancel = new AbortController()
      const building = builds.build(claim, step, log, cancel.signal)
      const ended = expect(building, name).rejects.toThrow(`Interrupted: ${name}`)
      await Promise.race([reached(log.seen), building])
      cancel.abort(new Error(`Interrupted: ${name}`))
      await ended
    }),
  )
  expect(place.leftovers()).toEqual(NO_LEFTOVERS)
  await expectNoTags(place, stages)
  // layers that were done stay for the next build, as long as the deployment is there
  for (const { claim } of stages) await builds.remove(claim.deployment.id)
  expect(stages.flatMap(({ claim }) => place.engine.imagesOf(claim.deployment.id))).toEqual([])
  close()
}

/** All of one server, whose builds are as far as they get; the commit begins last, as it does not wait. */
export async function whenKilled(place: ImageBuilderFixture): Promise<void> {
  const { stages, host, close } = await openStages(place)
  const dataDir = fs.mkdtempSync(path.join(place.root, 'killed-'))
  const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const log = memoryLog()
  createInterface(child.stdout).on('line', (line) => log.print('build', line, 'info'))
  const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`)
  send({ settings: { ...place.settings, dataDir }, host })
  const exited = once(child, 'exit')
  try {
    const last = stages.filter(({ name }) => name === 'commit')
    for (const some of [stages.filter((stage) => !last.includes(stage)), last])
      await Promise.all(
        some.map(({ name, claim, step, reached }) => {
          send({ name, claim, step })
          const printed = ({ source, flags }: RegExp) => log.seen(new RegExp(`^${name}: ${source.slice(1)}`, flags))
          const failed = printed(/^FAILED/).then((line) => expect.fail(line))
          return Promise.race([reached(printed), failed])
        }),
      )
    expect(place.leftovers(dataDir).processes.length).toBeGreaterThan(3)
  } finally {
    child.kill('SIGKILL')
    await exited
  }
  await expect.poll(() => place.leftovers(dataDir).processes, { timeout: 60_000 }).toEqual([])
  const next = place.open({ dataDir })
  await expect.poll(() => place.leftovers(dataDir), { timeout: 60_000 }).toEqual(NO_LEFTOVERS)
  await expectNoTags(place, stages)
  // what was to be built is built, and is all that is there
  const { claim, step } = stages.at(-1)!
  const { artifact } = await next.build(claim, step, memoryLog(), never)
  expect(Object.values(await place.registry.tags(claim.deployment.id))).toEqual([artifact.split('@')[1]])
  close()
}
