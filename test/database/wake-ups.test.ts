/** Wake-ups: listeners get them, batched into one statement, including the last ones before the process ends. */
import { expect, onTestFinished, test } from 'vitest'
import { connectDatabase, type Database } from '../../src/platform/postgres/client.ts'
import { createWakeUps, listen } from '../../src/platform/postgres/listen.ts'
import { useDatabase } from '../support/database.ts'

const database = useDatabase()

const quiet = { info() {}, warn() {}, error() {} }

/** Collects notifications of a channel from now on. */
async function hear(channel: string): Promise<string[]> {
  const heard: string[] = []
  await new Promise<void>((resolve) => {
    const listening = listen({
      url: database.url,
      channels: [channel],
      onNotify: (_, payload) => heard.push(payload),
      onConnect: resolve,
      log: quiet,
    })
    onTestFinished(() => listening.close())
  })
  return heard
}

test('notices that arrive during a send go out together, each once, with or without a payload', async () => {
  const heard = await hear('wakes')
  const db = connectDatabase({ url: database.url, poolSize: 1 })
  onTestFinished(() => db.close())
  let statements = 0
  const counting: Database['look'] = (statement, values) => {
    statements++
    return db.requests.query(statement, values)
  }
  const wakeUps = createWakeUps(counting)
  for (let i = 0; i < 100; i++) wakeUps.send([`wakes ${i % 10}`, 'wakes '])
  await wakeUps.close()
  await expect.poll(() => new Set(heard)).toEqual(new Set(['', ...'0123456789']))
  expect(statements).toBe(2)
})

test('closing the database first sends all pending notices', async () => {
  const heard = await hear('last')
  const db = connectDatabase({ url: database.url, poolSize: 1 })
  db.wake(['last first'])
  db.wake(['last second'])
  await db.close()
  await expect.poll(() => heard).toEqual(['first', 'second'])
})

test('an unavailable database loses wake-ups with one log line, and later wake-ups are sent', async () => {
  const heard = await hear('later')
  const db = connectDatabase({ url: database.url, poolSize: 1 })
  onTestFinished(() => db.close())
  let away = true
  const told: unknown[] = []
  const query: Database['look'] = (statement, values) =>
    away ? Promise.reject(new Error('away')) : db.requests.query(statement, values)
  const wakeUps = createWakeUps(query, { ...quiet, warn: (about) => told.push(about) })
  wakeUps.send(['later lost'])
  await expect.poll(() => told.length, { timeout: 10_000 }).toBe(1)
  away = false
  wakeUps.send(['later heard'])
  await wakeUps.close()
  await expect.poll(() => heard).toEqual(['heard'])
})
