// An `internal_source` revision on the process runtime: a real agent, built and run from an uploaded tarball.
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StepFailure } from '../../src/dataplane/output/step-failure.ts'
import { parseArtifact } from '../../src/dataplane/runtimes/artifact.ts'
import type { RevisionWork } from '../../src/domain/protocol/protocol.ts'
import { tarballRevision } from '../support/revision-work.ts'
import { type TarEntry, tarball, tarballOf } from '../support/tarball.ts'
import { claimOf, memoryLog, NO_SOURCES, never, openTestMachine, stepOf, type TestMachine } from './support.ts'

const AGENT = fileURLToPath(new URL('../../src/cli/demo-agent', import.meta.url))
const uploads = new Map<string, Buffer>()

let machine: TestMachine
beforeAll(async () => {
  machine = await openTestMachine({
    sources: {
      ...NO_SOURCES,
      async tarball(revisionId) {
        const bytes = uploads.get(revisionId)
        if (!bytes)
          throw new StepFailure('TARBALL_UNAVAILABLE', 'The source tarball is not there any more: upload it again.')
        return Readable.from([bytes])
      },
    },
  })
})
afterAll(() => machine.close())

function revisionOf(bytes: Buffer | null, changes: Partial<RevisionWork> = {}): RevisionWork {
  const id = randomUUID()
  if (bytes) uploads.set(id, bytes)
  return tarballRevision({ id, ...changes })
}

async function build(revision: RevisionWork, claim = claimOf()) {
  const log = memoryLog()
  const app = path.join(machine.options.dataDir, 'apps', claim.deployment.id)
  const commits: string[] = []
  const built = await machine.runtime.build(claim, stepOf('BUILD', revision), log, never, (sha) => commits.push(sha))
  return {
    ...built,
    commits,
    claim,
    log,
    tree: path.join(app, 'artifacts', parseArtifact(built.artifact).name, 'tree'),
  }
}

test('an agent is built from a tarball, deployed, and answers', async () => {
  const revision = revisionOf(tarballOf(AGENT, { 'greeting.txt': 'Hello from a tarball\n' }))
  const { commits, artifact, claim, log, tree } = await build(revision)
  expect(commits).toEqual([])
  expect(log.lines).toEqual(expect.arrayContaining(['Unpacking the source tarball', '$ npm ci']))
  // the server owns the artifact, so no run can change it
  const owners = fs.readdirSync(tree).map((name) => fs.statSync(path.join(tree, name)).uid)
  expect(new Set(owners)).toEqual(new Set([process.getuid!()]))

  const step = stepOf('DEPLOY', { ...revision, artifact })
  const candidate = await machine.runtime.deploy(claim, step, memoryLog(), never)
  await candidate.commit(async () => true)
  const response = await fetch(candidate.url)
  expect(await response.text()).toContain('Hello from a tarball')
  await machine.runtime.drop(claim.deployment.id)
})

test('install and build commands run for a tarball as for a repository', async () => {
  const revision = revisionOf(tarballOf(AGENT), {
    installCommand: 'touch installed',
    buildCommand: 'cp installed built',
  })
  const { tree } = await build(revision)
  expect(fs.existsSync(path.join(tree, 'built'))).toBe(true)
})

test('a hostile tarball fails the build with its message, and leaves nothing behind', async () => {
  const hostile: TarEntry[] = [
    { name: 'graph.json', body: '{}' },
    { name: 'up', type: '2', target: '../../database.json' },
  ]
  const claim = claimOf()
  await expect(build(revisionOf(tarball(...hostile)), claim)).rejects.toThrow(
    new StepFailure(
      'TARBALL_INVALID',
      'The source tarball was refused: entry "up" is a link that leads outside of the source.',
    ),
  )
  expect(fs.readdirSync(path.join(machine.options.dataDir, 'apps', claim.deployment.id, 'builds'))).toEqual([])
})

test('the message for a path without the tarball’s only folder names that folder', async () => {
  const bytes = tarballOf(AGENT, {}, 'agent-1.0/')
  await expect(build(revisionOf(bytes))).rejects.toThrow(
    'The source has no file "graph.json": check graph_config_path; all files of the tarball are in the folder "agent-1.0", so paths begin with "agent-1.0/".',
  )
  await build(revisionOf(bytes, { graphConfigPath: 'agent-1.0/graph.json' }))
  const other = revisionOf(tarballOf(AGENT), { graphConfigPath: 'other.json' })
  await expect(build(other)).rejects.toThrow(/no file "other.json": .*relative to the root of the tarball/)
})

test('a build of a deleted tarball fails and says so', async () => {
  await expect(build(revisionOf(null))).rejects.toThrow('upload it again')
})
