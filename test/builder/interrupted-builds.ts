/** Builds that are interrupted in each phase, and a check of what they leave behind. */
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
  /** Resolves when the build has reached this phase, in which it stays for at least a while. */
  reached(printed: (line: RegExp) => Promise<unknown>): Promise<unknown>
}

/** One build for each phase, and a registry that stalls. */
async function openStages(fixture: ImageBuilderFixture) {
  const fetch = /^GET \/nowhere\.git\//
  const pull = /^\w+ \/v2\/nowhere\//
  // no build may get this far
  const push = /^PUT \/v2\/workspace\/[^/]+\/manifests\/build-/
  const held = await startStallingProxy(fixture.registry.host, [fetch, pull, push])
  const dockerfile = (text: string) => fixture.step({ Dockerfile: text })
  const printed = (line: RegExp) => (seen: (line: RegExp) => Promise<unknown>) => seen(line)
  const stage = (name: string, step: RevisionStep, reached: Stage['reached']): Stage => {
    const claim = claimOf()
    return { name, claim, step, reached }
  }
  const elsewhere = fixture.step({}, { repoUrl: `http://${held.host}/nowhere.git` })
  const stages = [
    stage('fetch', elsewhere, () => held.stalled(fetch)),
    stage('pull of the base image', dockerfile(`FROM ${held.host}/nowhere/base:1\n`), () => held.stalled(pull)),
    stage('RUN', dockerfile(`FROM ${BASE}\nRUN echo under way; ${fixture.sleep}\n`), printed(/^under way/)),
    // large enough to take a moment to read
    stage('commit', dockerfile(`FROM ${BASE}\nRUN truncate -s 30M large\n`), printed(/^COMMIT /)),
    stage('push', dockerfile(`FROM ${BASE}\nRUN echo pushed > told\n`), () => held.stalled(push)),
  ]
  const { store } = fixture.registry
  const behind: ImageStore = {
    ...store,
    async repository(id, signal) {
      const repository = await store.repository(id, signal)
      return repository && { ...repository, name: repository.name.replace(fixture.registry.host, held.host) }
    },
  }
  return { stages, store: behind, host: held.host, close: held.close }
}

async function expectNoTags(fixture: ImageBuilderFixture, stages: Stage[]): Promise<void> {
  for (const { name, claim } of stages) expect(await fixture.registry.tags(claim.deployment.id), name).toEqual({})
}

export async function whenCancelled(fixture: ImageBuilderFixture): Promise<void> {
  const { stages, store, close } = await openStages(fixture)
  const builds = fixture.open({ store })
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
  expect(fixture.leftovers()).toEqual(NO_LEFTOVERS)
  await expectNoTags(fixture, stages)
  // finished layers stay for the next build while the deployment exists
  for (const { claim } of stages) await builds.remove(claim.deployment.id)
  expect(stages.flatMap(({ claim }) => fixture.engine.imagesOf(claim.deployment.id))).toEqual([])
  close()
}

/** Builds of one server, each in its phase; the commit starts last, because it does not stall. */
export async function whenKilled(fixture: ImageBuilderFixture): Promise<void> {
  const { stages, host, close } = await openStages(fixture)
  const dataDir = fs.mkdtempSync(path.join(fixture.root, 'killed-'))
  const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const log = memoryLog()
  createInterface(child.stdout).on('line', (line) => log.print('build', line, 'info'))
  const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`)
  send({ settings: { ...fixture.settings, dataDir }, host })
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
    expect(fixture.leftovers(dataDir).processes.length).toBeGreaterThan(3)
  } finally {
    child.kill('SIGKILL')
    await exited
  }
  await expect.poll(() => fixture.leftovers(dataDir).processes, { timeout: 60_000 }).toEqual([])
  const next = fixture.open({ dataDir })
  await expect.poll(() => fixture.leftovers(dataDir), { timeout: 60_000 }).toEqual(NO_LEFTOVERS)
  await expectNoTags(fixture, stages)
  // the expected images exist, and nothing else
  const { claim, step } = stages.at(-1)!
  const { artifact } = await next.build(claim, step, memoryLog(), never)
  expect(Object.values(await fixture.registry.tags(claim.deployment.id))).toEqual([artifact.split('@')[1]])
  close()
}
