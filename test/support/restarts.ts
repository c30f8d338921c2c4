/**
 * A server on its embedded Postgres under load, while Postgres is restarted repeatedly: `fast`, which notifies every
 * session, or `immediate`, a crash. Reports the result of each call and the final state.
 */
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { buildApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { findPostmaster } from '../../src/platform/postgres/embedded/postmaster.ts'
import { newDataDir, removeFolder } from './data-dir.ts'

export interface Restarts {
  /** Number of answers by kind: `200`, `503 UNAVAILABLE`, … */
  answers: Record<string, number>
  /** Names of deployments whose create was answered with 201 but that don't exist. */
  lost: string[]
  /** Names of deployments whose create was reported as not written but that exist. */
  written: string[]
  /** Restarts after which the server worked again. */
  survived: number
}

/** Number of concurrent callers. */
const CALLERS = 12

export async function restartUnderLoad(times: number): Promise<Restarts> {
  const dataDir = newDataDir()
  const key = `cpk_chaos_${randomBytes(16).toString('hex')}`
  const app = await buildApp(
    readConfig({
      PORT: '0',
      DATA_DIR: dataDir,
      LOG_LEVEL: 'silent',
      CONTROL_PLANE_API_KEY: key,
      DATABASE_QUERY_SECONDS: '4',
    }),
  )
  const answers: Record<string, number> = {}
  const outcomes = new Map<string, string>()
  let over = false

  async function call(method: string, target: string, body?: object): Promise<string> {
    const response = await fetch(app.publicUrl() + target, {
      method,
      headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const { code } = (await response.json()) as { code?: string }
    const outcome = code === undefined ? String(response.status) : `${response.status} ${code}`
    answers[outcome] = (answers[outcome] ?? 0) + 1
    return outcome
  }
  async function load(caller: number): Promise<void> {
    for (let round = 0; !over; round++) {
      const name = `agent-${caller}-${round}`
      outcomes.set(name, await call('POST', '/v2/deployments', create(name)))
      await call('GET', '/v2/deployments?limit=5')
    }
  }

  try {
    await app.start()
    const callers = Promise.all(Array.from({ length: CALLERS }, (_, caller) => load(caller)))
    let survived = 0
    for (; survived < times; survived++) {
      const { pid } = findPostmaster(path.join(dataDir, 'postgres'))!
      process.kill(pid, survived % 2 ? 'SIGQUIT' : 'SIGINT')
      while (findPostmaster(path.join(dataDir, 'postgres'))?.pid === pid) await call('GET', '/v2/deployments?limit=1')
      while ((await call('GET', '/v2/deployments?limit=1')) !== '200');
    }
    over = true
    await callers
    const rows = await app.core.db.deployment.findMany({ select: { name: true } })
    const there = new Set(rows.map(({ name }) => name))
    const named = (outcome: string) => [...outcomes].filter(([, said]) => said === outcome).map(([name]) => name)
    return {
      answers,
      lost: named('201').filter((name) => !there.has(name)),
      written: named('503 UNAVAILABLE').filter((name) => there.has(name)),
      survived,
    }
  } finally {
    over = true
    await app.close()
    await removeFolder(dataDir)
  }
}

const create = (name: string) => ({
  name,
  source: 'external_container',
  source_config: {},
  source_revision_config: { image_uri: 'registry.example.com/acme/agent:1' },
  secrets: [],
})
