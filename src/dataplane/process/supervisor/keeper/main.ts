/** Entry point of the bundled supervisor: the network process with the argument `network`, else the keeper. */
import type { SupervisorConfig } from '../protocol.ts'

process.chdir('/')
process.umask(0o077)
// each process loads only its own modules
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
