/** Our server in a separate process, exactly as `npm start` runs it, with default settings. */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../support/free-port.ts'
import { type Program, start, untilReady } from './processes.ts'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

export const dataDirOf = (folder: string): string => path.join(folder, 'data')

export interface Server extends Program {
  url: string
  /** The first admin key. */
  key: string
}

/** Starts it on `database`; null: with an embedded Postgres in `folder`. Resolves as soon as it is ready. */
export async function startServer(
  folder: string,
  database: string | null,
  {
    key = `cpk_bench_${randomBytes(16).toString('hex')}`,
    env = {},
  }: { key?: string; env?: Record<string, string> } = {},
): Promise<Server> {
  const { scripts } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const program = start('pilothouse', folder, ['sh', '-c', scripts.start], {
    cwd: ROOT,
    env: {
      PORT: String(port),
      DATA_DIR: dataDirOf(folder),
      CONTROL_PLANE_API_KEY: key,
      ...env,
      ...(database === null ? { WORKER: 'off' } : { DATABASE_URL: database }),
    },
  })
  await untilReady(program, `${url}/readyz`, folder)
  return { ...program, url, key }
}
