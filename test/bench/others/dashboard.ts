/**
 * The dashboard's list of 10,000 deployments in a browser, while 50 of them keep rolling out: the work of a tab during
 * scrolling and typing, and its memory after minutes. Uses the browser of test/browser.
 */
import { spawn, spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Table } from '../measure/report.ts'
import { cpuOf } from '../measure/usage.ts'
import type { Place } from '../place/place.ts'
import { ROOT } from '../place/server.ts'

const MOVING_DEPLOYMENTS = 50
/** Interval in ms between new rollouts. */
const ROLLOUT_INTERVAL_MS = 200
/**
 * Interval in ms between heartbeats of all listeners; after 90 s of silence every deployment of a listener would
 * change.
 */
const HEARTBEAT_INTERVAL_MS = 30_000
const SECONDS = Number(process.env.BENCH_DASHBOARD_SECONDS ?? 180)

/** The output of test/browser/bench.ts. */
interface Figures {
  firstRow: number
  longest: { clock: number; cpu: number }
  over50: number
  looks: { heap: number; nodes: number }[]
  every: number
  changes: number
  wrong: string[]
}

/** Throws if the browser can't be installed, or doesn't reach the list. */
export async function dashboard(place: Place): Promise<Table> {
  const installed = spawnSync('npm', ['ci', '--prefix', 'test/browser', '--silent'], { cwd: ROOT, stdio: 'inherit' })
  if (installed.status !== 0) throw new Error('test/browser could not be installed')
  const move = await mover(place)
  const before = cpuOf(place.server.pid)
  const began = performance.now()
  const figures = await inBrowser(place).catch(async (error) => {
    await move.end()
    throw error
  })
  const seconds = (performance.now() - began) / 1000
  const rollouts = await move.end()
  const cpu = before === null ? '–' : `${((cpuOf(place.server.pid)! - before) / 10 / seconds).toFixed(1)} %`
  const { firstRow, longest, over50, looks, every, changes, wrong } = figures
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
  const nodes = looks.map((look) => look.nodes)
  return {
    head: ['', ''],
    rows: [
      ['from the address to the first row', `${firstRow.toFixed(0)} ms`],
      ['longest task while scrolling and typing, by the clock', `${longest.clock.toFixed(1)} ms`],
      ['  by CPU', `${longest.cpu.toFixed(1)} ms`],
      ['tasks over 50 ms', String(over50)],
      [`rollouts meanwhile, of ${MOVING_DEPLOYMENTS} deployments`, String(rollouts)],
      [`changes of the page in the ${SECONDS} s after`, String(changes)],
      [`heap after garbage collection, each ${every} s, MB`, looks.map(({ heap }) => heap.toFixed(1)).join(' ')],
      ['nodes of the document, least and most', `${Math.min(...nodes)}, ${Math.max(...nodes)}`],
      ['CPU of the server, of one core', cpu],
    ],
  }
}

async function inBrowser(place: Place): Promise<Figures> {
  const args = [place.server.url, place.seeded.keys[1]!, place.seeded.workspaceId, String(SECONDS)]
  const child = spawn(process.execPath, ['--import', 'tsx', 'test/browser/bench.ts', ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [out, code] = await Promise.all([
    text(child.stdout),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ])
  if (code !== 0) throw new Error(`the browser ended with ${code}`)
  return JSON.parse(out) as Figures
}

/**
 * Rolls out new revisions of the same deployments of one cluster, one after the other, and performs their steps. All
 * other clusters send heartbeats, so nothing else changes.
 */
async function mover(place: Place): Promise<{ end(): Promise<number> }> {
  const id = place.seeded.listenerIds[0]!
  const made = await place.call<{ data: { createApiKey: { key: string } } }>('POST', '/graphql', {
    query:
      'mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeySuccess { key } } }',
    variables: { input: { name: 'dashboard', role: 'listener', listenerId: id } },
  })
  const { key } = made.data.createApiKey
  // the newest, which the list shows first
  const { data } = await place.call<{ data: { deployments: { nodes: { id: string }[] } } }>('POST', '/graphql', {
    query: 'query($id: ID!, $first: Int!) { deployments(first: $first, filter: { listenerId: $id }) { nodes { id } } }',
    variables: { id, first: MOVING_DEPLOYMENTS },
  })
  const moving = data.deployments.nodes.map((node) => node.id)
  let over = false
  let rollouts = 0
  const call = async (path: string, body: object) => {
    const response = await fetch(`${place.server.url}/v2/listeners/${id}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return response.status === 204 ? null : response.json()
  }
  const hear = async () => {
    await place.postgres.pool.query('UPDATE listeners SET last_seen_at = now()')
  }
  const patches = (async () => {
    for (let heard = Number.NEGATIVE_INFINITY; !over; rollouts++) {
      if (performance.now() - heard > HEARTBEAT_INTERVAL_MS) {
        await hear()
        heard = performance.now()
      }
      await place.call('PATCH', `/v2/deployments/${moving[rollouts % moving.length]}`, {
        source_revision_config: { image_uri: `registry.example.com/acme/agent:${rollouts}` },
      })
      await delay(ROLLOUT_INTERVAL_MS)
    }
  })()
  const steps = (async () => {
    while (!over) {
      const { claims } = await call('/claims', { holder: 'dashboard', max: 20, lease_seconds: 600, wait_seconds: 1 })
      for (const { claim_id, token, step } of claims)
        for (let next = step; next; ) {
          const outcome = { token, step_id: next.id, outcome: 'succeeded' }
          next = (await call(`/claims/${claim_id}/complete`, outcome)).assignment?.step ?? null
        }
      for (const { claim_id, token } of claims) await call(`/claims/${claim_id}/release`, { token })
    }
  })()
  const ended = Promise.all([patches, steps])
  // wakes the waiting calls
  ended.catch(() => {})
  return {
    async end() {
      over = true
      await ended
      return rollouts
    },
  }
}
