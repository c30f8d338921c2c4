/**
 * `npm run bench`, last part: the effect on a healthy client while one key, or a client without a key, attacks.
 * Server, attacker and client are separate processes. p99 under attack may be three times that of an idle server, or
 * 100 ms if that is more. The last line judges.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startServer, temporaryFolder } from '../../support/process.ts'
import { ATTACKS, type Tally, type Target } from './attacks.ts'
import { caller, say } from './support.ts'

/** Time in ms of each attack before and during the measurement. */
const LEAD_MS = 3_000
const MEASURED_MS = 8_000
/** Interval in ms between two requests of the client. */
const REQUEST_INTERVAL_MS = 50

const agent = new http.Agent({ keepAlive: true })
const LISTS = JSON.stringify({ query: '{ deployments(first: 20) { nodes { id name latestRevision { status } } } }' })

/**
 * One request of the healthy client: REST, GraphQL and a single deployment in turn. Returns its time in ms; throws on
 * any other status than 200.
 */
function ask(url: string, key: string, id: string, i: number): Promise<number> {
  const began = performance.now()
  const graphql = i % 3 === 1
  const path = graphql ? '/graphql' : i % 3 === 0 ? '/v2/deployments' : `/v2/deployments/${id}`
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const request = http.request(url + path, { method: graphql ? 'POST' : 'GET', headers, agent }, (response) => {
      response.resume().once('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - began)
        else reject(new Error(`the healthy client was answered with ${response.statusCode}`))
      })
    })
    request.once('error', reject)
    request.end(graphql ? LISTS : undefined)
  })
}

/**
 * One request every 50 ms, even while others are open, so that a standstill delays all requests that arrive during it.
 */
export async function measure(url: string, key: string, id: string): Promise<{ p50: number; p99: number }> {
  const asked: Promise<number>[] = []
  for (const until = performance.now() + MEASURED_MS; performance.now() < until; await delay(REQUEST_INTERVAL_MS))
    asked.push(ask(url, key, id, asked.length))
  const took = (await Promise.all(asked)).sort((a, b) => a - b)
  const at = (share: number) => took[Math.floor(share * (took.length - 1))]!
  return { p50: at(0.5), p99: at(0.99) }
}

/** Attacks while `work` runs; returns the attacker's answers. */
async function under<T>(name: string, target: Target, work: () => Promise<T>): Promise<{ result: T; tally: Tally }> {
  const attacker: ChildProcess = fork(
    fileURLToPath(new URL('attacker.ts', import.meta.url)),
    [name, JSON.stringify(target)],
    { execArgv: ['--import', 'tsx'] },
  )
  let tally: Tally = {}
  attacker.on('message', (message) => {
    tally = message as Tally
  })
  const ended = once(attacker, 'exit')
  try {
    await once(attacker, 'message')
    await delay(LEAD_MS)
    return { result: await work(), tally }
  } finally {
    attacker.kill('SIGKILL')
    await ended
  }
}

export async function fairness(): Promise<void> {
  const folder = await temporaryFolder()
  const server = await startServer({ DATA_DIR: folder.path, LOG_LEVEL: 'warn', RUNTIME: 'none' })
  try {
    const { url, key } = server
    const call = caller(() => url, key!)
    const create = (name: string, source: string, more: object) =>
      call('POST', '/v2/deployments', { name, source, source_config: {}, source_revision_config: more, secrets: [] })
    for (let i = 0; i < 100; i++) await create(`agent-${i}`, 'internal_container', { image_uri: 'agent:1' })
    const { id } = await create('healthy', 'internal_container', { image_uri: 'agent:1' })
    const upload = await create('uploaded', 'internal_source', { graph_config_path: 'graph.json' })
    const listener = await call('POST', '/v2/listeners', {
      compute_type: 'k8s',
      compute_id: 'bench',
      compute_config: { k8s_namespaces: ['bench'] },
    })
    const newKey = async (input: object): Promise<string> => {
      const query =
        'mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeySuccess { key } } }'
      return (await call('POST', '/graphql', { query, variables: { input } })).data.createApiKey.key
    }
    const healthy = await newKey({ name: 'healthy', role: 'viewer' })
    const keys = {
      viewer: await newKey({ name: 'attacker', role: 'viewer' }),
      deployer: await newKey({ name: 'attacker of uploads', role: 'deployer' }),
      listener: await newKey({ name: 'attacker of waits', role: 'listener', listenerId: listener.id }),
    }
    await measure(url, healthy, id)
    const idle = await measure(url, healthy, id)
    const most = Math.max(3 * idle.p99, 100)
    say('a healthy client alone', shown(idle))
    let late = 0
    for (const name of Object.keys(ATTACKS)) {
      const role = name.includes('waits') ? 'listener' : name.includes('upload') ? 'deployer' : 'viewer'
      const target = { url, key: keys[role], listenerId: listener.id, deploymentId: upload.id }
      const { result, tally } = await under(name, target, () => measure(url, healthy, id))
      if (result.p99 > most) late++
      say(`the same under attack: ${name}`, `${shown(result)}  attacker: ${JSON.stringify(tally)}`)
      // streams and waits that were cut off are gone a moment later
      await delay(2_000)
    }
    say(`attacks under which its p99 was over ${most.toFixed(0)} ms`, `${late} of ${Object.keys(ATTACKS).length}`)
  } finally {
    agent.destroy()
    server.child.kill('SIGTERM')
    await server.ended
    await folder.remove()
  }
}

export const shown = ({ p50, p99 }: { p50: number; p99: number }) => `p50 ${p50.toFixed(1)}  p99 ${p99.toFixed(1)}`

// runs on its own: `node --import tsx test/bench/fairness.ts`
if (process.argv[1] === fileURLToPath(import.meta.url)) await fairness()
