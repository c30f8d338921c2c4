// The last supervisor ends the embedded Postgres when no server uses it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { processIdentity } from '../../src/dataplane/process/processes/proc.ts'
import { shutDownPostgresIfUnused, supervisorLives } from '../../src/dataplane/process/processes/supervisor-locks.ts'
import { startEmbedded } from '../../src/platform/postgres/embedded/embedded.ts'
import { findPostmaster } from '../../src/platform/postgres/embedded/postmaster.ts'
import { NOT_DURABLE, newDataDir } from '../support/data-dir.ts'

const dataDir = newDataDir()
const needed = () => supervisorLives(dataDir)
const start = () => startEmbedded({ dataDir, settings: NOT_DURABLE, needed })
const running = () => findPostmaster(path.join(dataDir, 'postgres')) !== undefined
afterAll(() => rm(dataDir, { recursive: true, force: true }))

/** A process with the lock of a supervisor. */
async function keeper(name: string) {
  const child = spawn('sleep', ['600'])
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  const folder = path.join(dataDir, 'run', name)
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(folder, 'lock'), `${child.pid} ${processIdentity(child.pid!)}\n`)
  return {
    /** Ends without cleaning up, as when it is killed. */
    async dies() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
    async leaves() {
      fs.rmSync(path.join(folder, 'lock'))
      await shutDownPostgresIfUnused(dataDir)
    },
  }
}

test('the last supervisor ends the Postgres that no server uses', async () => {
  const server = await start()
  const [one, two, killed] = [await keeper('one'), await keeper('two'), await keeper('killed')]
  await server.stop()
  expect(running()).toBe(true)
  await one.leaves()
  await killed.dies()
  expect(running()).toBe(true)
  await two.leaves()
  await expect.poll(running).toBe(false)
})

test('the last supervisor leaves a Postgres that a server uses, and the server ends it', async () => {
  const server = await start()
  const last = await keeper('last')
  await last.leaves()
  expect(running()).toBe(true)
  await server.stop()
  expect(running()).toBe(false)
})

test('a supervisor without an embedded Postgres has nothing to end', async () => {
  await shutDownPostgresIfUnused(dataDir)
  await shutDownPostgresIfUnused(path.join(dataDir, 'gone'))
  expect(supervisorLives(path.join(dataDir, 'gone'))).toBe(false)
})
