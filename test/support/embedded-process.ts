/**
 * A process that uses the embedded Postgres as a server does: `useInProcess(dataDir)` starts one, which is this
 * same file run as a program.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startEmbedded } from '../../src/platform/postgres/embedded/embedded.ts'
import { NOT_DURABLE } from './data-dir.ts'

export interface EmbeddedProcess {
  url: string
  started: boolean
  /** Lets it stop as a server does, or ends it where it stands. */
  end(how: 'stop' | 'kill -9'): Promise<void>
}

export async function useInProcess(dataDir: string): Promise<EmbeddedProcess> {
  const child = fork(fileURLToPath(import.meta.url), [dataDir], { execArgv: ['--import', 'tsx'] })
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url, started, stop } = await startEmbedded({ dataDir: process.argv[2]!, settings: NOT_DURABLE })
  process.send!({ url, started })
  await once(process, 'message')
  await stop()
  process.disconnect()
}
