// Installs an agent server below the folder in argument 1 and prints its name. Argument 2: `killed` kills the process
// midway, `whole` records each installation in the file `installations`. Its log is in the file `said`.
import fs from 'node:fs'
import path from 'node:path'
import { ensureAgentServer } from '../../src/dataplane/process/artifacts/agent-servers.ts'

const [agentServers, how] = process.argv.slice(2) as [string, string]
const name = await ensureAgentServer({
  machine: { layout: { agentServers }, accounts: { shared: null }, searchPath: process.env.PATH ?? '' },
  packages: ['acme@1'],
  python: null,
  env: {},
  run: async (_command, home) => {
    const files = path.join(path.dirname(home), 'files')
    fs.writeFileSync(path.join(files, 'first.js'), how)
    if (how === 'killed') process.kill(process.pid, 'SIGKILL')
    fs.appendFileSync(path.join(agentServers, '..', 'installations'), 'one\n')
    fs.writeFileSync(path.join(files, 'second.js'), how)
    return { code: 0, signal: null }
  },
  log: (line) => fs.appendFileSync(path.join(agentServers, '..', 'said'), `${line}\n`),
  signal: new AbortController().signal,
})
console.log(name)
