/** Entry point of the bundled supervisor. Reads its configuration from standard input. */
import type { SupervisorConfig } from '../protocol.ts'
import { runKeeper } from './keeper.ts'

process.chdir('/')
process.umask(0o077)
await runKeeper(await readConfig())

async function readConfig(): Promise<SupervisorConfig> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.includes('\n')) break
  }
  return JSON.parse(text) as SupervisorConfig
}
