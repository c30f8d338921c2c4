/**
 * Agents that attack their machine: a fork bomb, 256 MB above the memory limit, 1 GB above the file limit, 50,000
 * lines a second. p99 of an API client may double or reach 50 ms, Postgres may grow by 5 MB, and health must give the
 * reason. Without control groups (an ordinary user, macOS) only polling limits the agents.
 */
import { randomUUID } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startServer, temporaryFolder } from '../../support/process.ts'
import { agentRepository } from '../../support/repository.ts'
import { measure, shown } from './fairness.ts'
import { caller, say } from './support.ts'

const MEMORY_MB = 200
const FILE_MB = 100

/** What an agent does after a request for /attack: JavaScript on one line. */
const ATTACKS: Record<string, { does: string; reason: string | null }> = {
  'a fork bomb': {
    does: `require('child_process').spawn('/bin/sh', ['-c', 'b() { b | b & b; }; b'], { stdio: 'ignore' })`,
    reason: 'PROCESS_LIMIT',
  },
  '256 MB over the memory bound': {
    does: `const all = []; const more = setInterval(() => { all.push(Buffer.alloc(4e6, 1)); if (all.length * 4 > ${MEMORY_MB + 256}) clearInterval(more) }, 1)`,
    reason: 'OUT_OF_MEMORY',
  },
  '1 GB over the file bound': {
    does: `const fs = require('fs'); const to = fs.openSync('large', 'w'); let mb = 0; const more = setInterval(() => { try { fs.writeSync(to, Buffer.alloc(1e6, 1)) } catch (error) { console.error(error.code) } if (++mb > ${FILE_MB + 1000}) clearInterval(more) }, 1)`,
    reason: 'FILE_LIMIT',
  },
  '50,000 lines a second': {
    does: `setInterval(() => process.stdout.write('a line that an agent prints, of the usual length\\n'.repeat(500)), 10)`,
    reason: null,
  },
}

const startOf = (does: string) =>
  `node -e "${`require('http').createServer((request, answer) => { answer.end('ok'); if (request.url === '/attack') { ${does} } }).listen(process.env.PORT)`.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`

interface Deployment {
  id: string
  url: string
}

async function until<T>(what: string, ms: number, look: () => Promise<T | null>): Promise<T> {
  for (const end = performance.now() + ms; performance.now() < end; await delay(200)) {
    const found = await look()
    if (found !== null) return found
  }
  throw new Error(`${what}: not in ${ms / 1000} s`)
}

/** Bytes of all tables and indexes of the embedded Postgres. */
async function databaseBytes(dataDir: string): Promise<number> {
  const base = path.join(dataDir, 'postgres/base')
  let bytes = 0
  for (const file of await readdir(base, { recursive: true }))
    bytes += await stat(path.join(base, file)).then(
      (found) => (found.isFile() ? found.size : 0),
      () => 0,
    )
  return bytes
}

export async function agentAttacks(): Promise<void> {
  const folder = await temporaryFolder()
  const settings = {
    DATA_DIR: folder.path,
    LOG_LEVEL: 'warn',
    WORKER: 'on',
    RUNTIME: 'process',
    APP_PORTS: '28100-28199',
    APP_MEMORY_MB: String(MEMORY_MB),
    APP_FILE_MB: String(FILE_MB),
    APP_PIDS: '256',
    AGENTS_END_WITH_SERVER: 'on',
  }
  const server = await startServer(settings)
  const repositories: { remove(): Promise<void> }[] = []
  try {
    const { url, key } = server
    const call = caller(() => url, key!)
    const { data } = await call('POST', '/graphql', { query: '{ gitIntegrations { id } }' })
    const deploy = async (does: string) => {
      const name = `attacker-${randomUUID().slice(0, 8)}`
      const repository = await agentRepository(path.join(folder.path, 'git'), name, startOf(does))
      repositories.push(repository)
      const { id } = await call('POST', '/v2/deployments', {
        name,
        source: 'gitprovider',
        source_config: { repo_url: repository.url, integration_id: data.gitIntegrations[0].id },
        source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
        secrets: [],
        access: 'public',
      })
      return until(`${name} is deployed`, 180_000, async () => {
        const { latest_revision_id } = await call('GET', `/v2/deployments/${id}`)
        const revision = await call('GET', `/v2/deployments/${id}/revisions/${latest_revision_id}`)
        if (/FAILED/.test(revision.status)) throw new Error(`${revision.status}: ${revision.status_message}`)
        return revision.status === 'DEPLOYED' ? ((await call('GET', `/v2/deployments/${id}`)) as Deployment) : null
      })
    }
    const quiet = await deploy('')
    const attackers: { name: string; reason: string | null; deployment: Deployment }[] = []
    for (const [name, { does, reason }] of Object.entries(ATTACKS))
      attackers.push({ name, reason, deployment: await deploy(does) })
    await measure(url, key!, quiet.id)
    const idle = await measure(url, key!, quiet.id)
    say('a client of the API while agents do nothing', shown(idle))
    const most = Math.max(2 * idle.p99, 50)
    let late = 0
    let grown = 0
    for (const { name, reason, deployment } of attackers) {
      const before = await databaseBytes(folder.path)
      await fetch(`${deployment.url}/attack`).catch(() => undefined)
      const told =
        reason &&
        until(`${name} has ${reason}`, 60_000, async () => {
          const { health } = await call('GET', `/v2/deployments/${deployment.id}`)
          return health?.reason === reason ? (health.message as string) : null
        }).catch((error: Error) => error.message)
      const result = await measure(url, key!, quiet.id)
      if (result.p99 > most) late++
      say(`the same, with an agent that is ${name}`, shown(result))
      if (told) say('  its health says', await told)
      grown += (await databaseBytes(folder.path)) - before
      await call('DELETE', `/v2/deployments/${deployment.id}`)
      // its database must not be counted in the next figure
      await until(`${name} is gone`, 60_000, () =>
        call('GET', `/v2/deployments/${deployment.id}`).then(
          () => null,
          () => true,
        ),
      )
    }
    say(`attacks under which its p99 was over ${most.toFixed(0)} ms`, `${late} of ${attackers.length}`)
    say('Postgres has grown by (5 MB may be)', `${(grown / 1e6).toFixed(1)} MB`)
  } finally {
    server.child.kill('SIGTERM')
    await server.ended
    for (const repository of repositories) await repository.remove()
    await folder.remove()
  }
}

// runs on its own: `node --import tsx test/bench/agents.ts`
if (process.argv[1] === fileURLToPath(import.meta.url)) await agentAttacks()
