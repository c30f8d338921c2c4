/**
 * Starts one Postgres for the run (embedded without fsync, or TEST_DATABASE_URL, whose user may create databases) and
 * migrates a template that each test's database is cloned from. Removes everything at the end.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import type { TestProject } from 'vitest/node'
import { startEmbedded } from '../../src/platform/postgres/embedded/embedded.ts'
import { findPostmaster } from '../../src/platform/postgres/embedded/postmaster.ts'
import { migrate } from '../../src/platform/postgres/migrate.ts'
import { NOT_DURABLE, newDataDir, removeFolder } from './data-dir.ts'
import { asAdmin, atDatabase, dropDatabase, overTcp } from './database.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The run's Postgres: an administrator's URL, the prefix of its databases' names, and the template's name. */
    postgres: { url: string; prefix: string; template: string }
    /** Start of the run, in ms since the epoch. */
    runStarted: number
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = process.env.TEST_DATABASE_URL
    ? { url: process.env.TEST_DATABASE_URL, stop: async () => {} }
    : await embeddedForTests()
  const prefix = `pilothouse_test_${randomBytes(4).toString('hex')}`
  const template = `${prefix}_template`
  await asAdmin(server.url, (admin) => admin.query(`CREATE DATABASE ${template}`))
  await migrate(atDatabase(server.url, template))
  project.provide('postgres', { url: server.url, prefix, template })
  project.provide('runStarted', Date.now())
  return async () => {
    await asAdmin(server.url, async (admin) => {
      const { rows } = await admin.query<{ datname: string }>(
        'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
        [prefix],
      )
      for (const { datname } of rows) await dropDatabase(admin, datname)
    })
    await server.stop()
  }
}

async function embeddedForTests(): Promise<{ url: string; stop(): Promise<void> }> {
  const dataDir = newDataDir()
  const { url, stop } = await startEmbedded({ dataDir, settings: NOT_DURABLE })
  const release = endWithUs(dataDir)
  return {
    url: overTcp(url),
    async stop() {
      await stop()
      release()
      await removeFolder(dataDir)
    },
  }
}

/** Cleans up after an interrupted or killed run too: a shell waits for the end of its pipe to this process. */
function endWithUs(dataDir: string): () => void {
  const server = findPostmaster(path.join(dataDir, 'postgres'))!
  const script =
    'read -r line && exit; kill -QUIT "$1"; while kill -0 "$1" 2>/dev/null; do sleep 0.1; done; rm -rf "$2"'
  // detached, because an interrupt in a terminal must not end it
  const child = spawn('sh', ['-c', script, 'sh', String(server.pid), dataDir], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return () => child.stdin.end('\n')
}
