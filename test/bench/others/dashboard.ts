/**
 * The dashboard's list of 10,000 deployments in a browser, while 50 of them move all the time: what a tab does while somebody
 * scrolls and types, and what is left of its memory after minutes. The browser is test/browser's, a program of its own.
 */
import { spawn, spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Table } from '../measure/report.ts'
import { cpuOf } from '../measure/usage.ts'
import type { Place } from '../place/place.ts'
import { ROOT } from '../place/server.ts'

const MOVING = 50
/** a rollout of one of them begins each so many ms */
const EVERY = 200
/** looks at the heap that come before those that count, each of 15 s */
const WARM = 2
const SECONDS = Number(process.env.BENCH_DASHBOARD_SECONDS ?? 180)

/** What test/browser/bench.ts prints. */
interface Figures {
  firstRow: number
  longest: { clock: number; cpu: number }
  over50: number
  heap: number[]
  changes: number
  wrong: string[]
}

/** Throws when the browser can't be installed, or doesn't get to the list. */
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
  const { firstRow, longest, over50, heap, changes, wrong } = figures
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
  // in the first half minute what was looked at last still goes
  const settled = heap.slice(Math.min(WARM, heap.length - 1))
  return {
    head: ['', ''],
    rows: [
      ['from the address to the first row', `${firstRow.toFixed(0)} ms`],
      ['longest task while scrolling and typing, by the clock', `${longest.clock.toFixed(1)} ms`],
      ['  by CPU', `${longest.cpu.toFixed(1)} ms`],
      ['tasks over 50 ms', String(over50)],
      [`rollouts meanwhile, of ${MOVING} deployments`, String(rollouts)],
      [`changes of the page in the ${SECONDS} s after`, String(changes)],
      [
        'heap after garbage collection, half a minute later: first, most, last',
        settled.length ? mb(settled[0]!, Math.max(...settled), settled.at(-1)!) : '–',
      ],
      ['CPU of the server, of one core', cpu],
    ],
  }
}

const mb = (...sizes: number[]) => sizes.map((size) => `${size.toFixed(1)} MB`).join(', ')

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

/** Rolls new revisions of the same deployments of one cluster out, one after the other, and does their steps. */
async function mover(place: Place): Promise<{ end(): Promise<number> }> {
  const id = place.seeded.listenerIds[0]!
  const made = await place.call<{ data: { createApiKey: { key: string } } }>('POST', '/graphql', {
    query:
      'mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeySuccess { key } } }',
    variables: { input: { name: 'dashboard', role: 'listener', listenerId: id } },
  })
  const { key } = made.data.createApiKey
  // the newest, which the list begins with
  const { data } = await place.call<{ data: { deployments: { nodes: { id: string }[] } } }>('POST', '/graphql', {
    query: 'query($id: ID!, $first: Int!) { deployments(first: $first, filter: { listenerId: $id }) { nodes { id } } }',
    variables: { id, first: MOVING },
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
  const patches = (async () => {
    for (; !over; rollouts++) {
      await place.call('PATCH', `/v2/deployments/${moving[rollouts % moving.length]}`, {
        source_revision_config: { image_uri: `registry.example.com/acme/agent:${rollouts}` },
      })
      await delay(EVERY)
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
  // whoever waits for the end hears of it
  ended.catch(() => {})
  return {
    async end() {
      over = true
      await ended
      return rollouts
    },
  }
}
