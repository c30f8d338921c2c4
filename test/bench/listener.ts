/**
 * `npm run bench:listener`: a real server on an embedded Postgres, a real listener process and the cluster stand-in.
 * Deploys 200 concurrently until all serve, then more up to 1,000, and measures the cost at rest. Prints figures without
 * judging.
 */
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { buildApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { openTestCluster } from '../support/kubernetes/cluster.ts'
import { run } from '../support/process.ts'
import { caller, say } from './others/support.ts'

const AT_ONCE = Number(process.env.BENCH_AT_ONCE ?? 200)
const HELD = Number(process.env.BENCH_HELD ?? 1_000)
const LEASE_SECONDS = 30
const QUIET_SECONDS = 30
const key = `cpk_bench_${randomBytes(16).toString('hex')}`
const dataDir = path.join(os.tmpdir(), `pilothouse-bench-${randomBytes(4).toString('hex')}`)

/** Returns the listener's calls to the control plane by route since the last read. */
let calls: Record<string, number> = {}
function takeCalls(): string {
  const taken = Object.entries(calls)
  calls = {}
  return taken.map(([route, count]) => `${route} ${count}`).join(', ') || 'none'
}

const call = caller(() => app.publicUrl(), key)

const app = await buildApp(
  readConfig({ PORT: '0', DATA_DIR: dataDir, CONTROL_PLANE_API_KEY: key, LOG_LEVEL: 'silent', RUNTIME: 'none' }),
)
app.fastify.addHook('onResponse', async ({ routeOptions }) => {
  const [, route] = /^\/v2\/listeners\/:listener_id\/(.*)$/.exec(routeOptions.url ?? '') ?? []
  if (route) calls[route] = (calls[route] ?? 0) + 1
})
await app.start()
const cluster = await openTestCluster()
const namespace = await cluster.createNamespace()
const listener = await call('POST', '/v2/listeners', {
  compute_type: 'k8s',
  compute_id: 'bench',
  compute_config: { k8s_namespaces: [namespace] },
})
const minted = await call('POST', '/graphql', {
  query: 'mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeySuccess { key } } }',
  variables: { input: { name: 'bench', role: 'listener', listenerId: listener.id } },
})
const program = run('cli', ['listener'], {
  CONTROL_PLANE_URL: app.publicUrl(),
  CONTROL_PLANE_API_KEY: minted.data.createApiKey.key,
  LISTENER_ID: listener.id,
  KUBECONFIG: await cluster.limitedKubeconfig({ namespaces: [namespace] }),
  LEASE_SECONDS: String(LEASE_SECONDS),
  LISTENER_HOST: '127.0.0.1',
  LISTENER_PORT: '0',
})
program.child.stdout!.resume()

let made = 0
async function create(count: number): Promise<void> {
  const names = Array.from({ length: count }, () => `bench-${made++}`)
  for (let i = 0; i < names.length; i += 20) {
    const twenty = names.slice(i, i + 20).map((name) =>
      call('POST', '/v2/deployments', {
        name,
        source: 'external_container',
        source_config: { listener_id: listener.id, listener_config: { k8s_namespace: namespace } },
        source_revision_config: { image_uri: 'registry.example.com/agent:1' },
        secrets: [{ name: 'TOKEN', value: name }],
      }),
    )
    await Promise.all(twenty)
  }
}

/** Resolves when `count` deployments serve; throws if one has failed. */
async function serving(count: number): Promise<void> {
  for (;;) {
    const [row] = await app.core.db.$queryRaw<{ served: number; failed: string | null }[]>`
      SELECT count(*) FILTER (WHERE status = 'DEPLOYED')::int AS served,
             min(status_message) FILTER (WHERE status IN ('CREATE_FAILED', 'DEPLOY_FAILED')) AS failed FROM revisions`
    if (row?.failed) throw new Error(row.failed)
    if (row?.served === count) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function listenerMemory(): Promise<string> {
  const port = /"healthPort":(\d+)/.exec(program.output.stdout)?.[1]
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return `${Math.round(Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1]) / 2 ** 20)} MiB`
}

try {
  while (!program.output.stdout.includes('healthPort')) await new Promise((resolve) => setTimeout(resolve, 50))
  cluster.standIn?.requests.reset()
  takeCalls()
  const began = performance.now()
  await create(AT_ONCE)
  say(`${AT_ONCE} deployments: all of them are created`, `${((performance.now() - began) / 1000).toFixed(1)} s`)
  await serving(AT_ONCE)
  say('… until all of them serve', `${((performance.now() - began) / 1000).toFixed(1)} s`)
  say('… calls to the control plane', takeCalls())
  say('… calls to the API server, each deployment', (Number(cluster.standIn?.requests.total) / AT_ONCE).toFixed(1))

  for (let held = AT_ONCE; held < HELD; held += AT_ONCE) {
    await create(Math.min(AT_ONCE, HELD - held))
    await serving(Math.min(HELD, held + AT_ONCE))
  }
  // waits until the work after the deploys has ended
  await new Promise((resolve) => setTimeout(resolve, 15_000))
  cluster.standIn?.requests.reset()
  takeCalls()
  const cpu = process.cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, QUIET_SECONDS * 1000))
  const { user, system } = process.cpuUsage(cpu)
  say(`${HELD} held by one listener, ${QUIET_SECONDS} quiet seconds, lease ${LEASE_SECONDS} s`, takeCalls())
  say('… calls to the API server, new watches among them', String(cluster.standIn?.requests.total))
  say('… CPU of server and stand-in together', `${((user + system) / QUIET_SECONDS / 10_000).toFixed(1)} %`)
  say('… memory of the listener (RSS)', await listenerMemory())
} finally {
  program.child.kill('SIGTERM')
  await program.ended
  await app.close()
  await cluster.close()
  await rm(dataDir, { recursive: true, force: true })
}
