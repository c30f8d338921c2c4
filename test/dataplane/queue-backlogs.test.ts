/** Waiting runs and stalled queues in deployments' databases, with the default queries on the table of Aegra. */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createDatabase,
  createDatabaseAdmin,
  databaseUri,
  dropDatabase,
} from '../../src/dataplane/process/isolation/database.ts'
import { QueueBacklogs } from '../../src/dataplane/runtimes/queue-backlogs.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { never } from './support.ts'

/** `runs` after all migrations of Aegra 0.9.17, without references to other tables. */
const AEGRA = `
  CREATE TABLE runs (
    run_id text PRIMARY KEY DEFAULT gen_random_uuid()::text, thread_id text NOT NULL, assistant_id text,
    status text NOT NULL DEFAULT 'pending', input jsonb DEFAULT '{}', config jsonb, context jsonb, output jsonb, error_message text,
    user_id text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
    execution_params jsonb, claimed_by text, lease_expires_at timestamptz);
  CREATE INDEX idx_runs_status ON runs (status);
  CREATE INDEX idx_runs_lease_reaper ON runs (status, lease_expires_at);
  INSERT INTO runs (thread_id, user_id, status)
  SELECT 't', 'u', unnest(ARRAY['pending', 'pending', 'pending', 'running', 'error', 'success', 'timeout', 'interrupted'])`

let database: TestDatabase
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-queues-'))
const made: string[] = []
const admin = () => createDatabaseAdmin(database.url)
let seconds = 0

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(async () => {
  for (const id of made) await dropDatabase(admin(), id, never)
  await database.drop()
  fs.rmSync(folder, { recursive: true })
})

/** A deployment with a database. `sql` runs in it as the deployment's role. */
async function deployment() {
  const deploymentId = randomUUID()
  made.push(deploymentId)
  const file = path.join(folder, deploymentId)
  await createDatabase(admin(), deploymentId, file, never)
  const uri = () => databaseUri(admin(), deploymentId, file)
  const sql = async (text: string) => {
    const client = new pg.Client({ connectionString: uri()! })
    await client.connect()
    await client.query(text)
    await client.end()
  }
  return { deploymentId, revisionId: 'r', uri, sql }
}

function watch() {
  const { QUEUE_BACKLOG_QUERY: backlogQuery, QUEUE_PROGRESS_QUERY: progressQuery } = readConfig({})
  return new QueueBacklogs({ backlogQuery, progressQuery, stallSeconds: 60 }, () => seconds * 1000)
}

test('a queue of Aegra is stalled when runs wait and none is completed, until one is or none waits', async () => {
  const queue = await deployment()
  await queue.sql(AEGRA)
  const queues = watch()
  const problemAfter = async (more: number) => {
    seconds += more
    await queues.look([queue])
    return queues.problem(queue.deploymentId)?.reason ?? null
  }
  expect(await problemAfter(0)).toBeNull()
  expect(queues.backlog(queue.deploymentId)).toBe(3)
  expect(await problemAfter(59)).toBeNull()
  expect(await problemAfter(1)).toBe('QUEUE_STALLED')
  await queue.sql(`INSERT INTO runs (thread_id, user_id) VALUES ('t', 'u')`)
  expect(await problemAfter(10)).toBe('QUEUE_STALLED')
  expect(queues.backlog(queue.deploymentId)).toBe(4)
  // a worker completes a run and takes the next one
  await queue.sql(`UPDATE runs SET status = 'success' WHERE status = 'running'`)
  expect(await problemAfter(10)).toBeNull()
  expect(await problemAfter(60)).toBe('QUEUE_STALLED')
  // looks that fail say nothing for a minute, and then nothing is known
  const unreachable = { ...queue, uri: () => 'postgresql://a:b@127.0.0.1:1/a' }
  for (const reason of ['QUEUE_STALLED', undefined]) {
    seconds += 50
    await queues.look([unreachable])
    expect(queues.problem(queue.deploymentId)?.reason).toBe(reason)
  }
  await queue.sql(`UPDATE runs SET status = 'interrupted' WHERE status = 'pending'`)
  expect(await problemAfter(10)).toBeNull()
  expect(queues.backlog(queue.deploymentId)).toBe(0)
  // the time of an earlier revision does not count
  await queue.sql(`INSERT INTO runs (thread_id, user_id) VALUES ('t', 'u')`)
  await problemAfter(0)
  seconds += 60
  await queues.look([{ ...queue, revisionId: 'next' }])
  expect(queues.problem(queue.deploymentId)).toBeNull()
})

test('runs are open while they wait or are running, for at most 6 hours without a change', async () => {
  const queue = await deployment()
  await queue.sql(AEGRA)
  const queues = watch()
  const isOpenAfter = async (status: string, more = 10) => {
    seconds += more
    await queue.sql(`UPDATE runs SET status = '${status}'`)
    await queues.look([queue])
    return queues.hasOpenRuns(queue.deploymentId)
  }
  expect(queues.hasOpenRuns(queue.deploymentId)).toBe(false)
  expect(await isOpenAfter('pending')).toBe(true)
  expect(await isOpenAfter('running')).toBe(true)
  expect(await isOpenAfter('running', 6 * 3600 - 1)).toBe(true)
  expect(await isOpenAfter('running', 1)).toBe(false)
  expect(await isOpenAfter('pending')).toBe(true)
  expect(await isOpenAfter('success')).toBe(false)
})

test('a database that does not answer delays no other, and one without runs is looked at less and less often', async () => {
  const silent = net.createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  const { port } = silent.address() as AddressInfo
  const dead = { ...(await deployment()), uri: () => `postgresql://a:b@127.0.0.1:${port}/a` }
  let looks = 0
  const empty = await deployment()
  const uri = () => {
    looks++
    return empty.uri()
  }
  const counted = { ...empty, uri }
  const queue = await deployment()
  await queue.sql(AEGRA)
  const queues = watch()
  const round = queues.look([dead, counted, queue])
  await expect.poll(() => queues.backlog(queue.deploymentId)).toBe(3)
  // the round that waits for the silent database is still going on
  expect(queues.look([])).toBe(round)
  await round
  expect(queues.backlog(dead.deploymentId)).toBeNull()
  for (let i = 0; i < 6; i++) {
    seconds += 10
    await queues.look([counted])
  }
  expect(looks).toBe(3)
  silent.close()
})
