/**
 * The program of a supervisor, made into one file. `network`: it is the network process of a keeper, else a keeper, which
 * reads its configuration, one line of JSON, from its standard input.
 */
import type { SupervisorConfig } from '../protocol.ts'

process.chdir('/')
process.umask(0o077)
// each loads only what is its own
if (process.argv[2] === 'network') {
  const { runNetwork } = await import('../network/network.ts')
  runNetwork()
} else {
  const [{ runKeeper }, config] = await Promise.all([import('./keeper.ts'), readConfig()])
  await runKeeper(config)
}

async function readConfig(): Promise<SupervisorConfig> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.includes('\n')) break
  }
  return JSON.parse(text) as SupervisorConfig
}
