/** A server inside the bench process, with a separate embedded Postgres, for cases that inspect it. */
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { type App, buildApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/platform/config/config.ts'

export async function withApp(
  work: (app: App, key: string) => Promise<void>,
  settings: Record<string, string> = {},
): Promise<void> {
  const key = `cpk_bench_${randomBytes(16).toString('hex')}`
  const dataDir = path.join(os.tmpdir(), `pilothouse-bench-${randomBytes(4).toString('hex')}`)
  const own = { PORT: '0', DATA_DIR: dataDir, CONTROL_PLANE_API_KEY: key, LOG_LEVEL: 'silent', WORKER: 'off' }
  const app = await buildApp(readConfig({ ...own, ...settings }))
  await app.start()
  try {
    await work(app, key)
  } finally {
    await app.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}
