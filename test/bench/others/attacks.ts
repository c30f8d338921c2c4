/**
 * The attacks of the bench. Each runs in a separate process (attacker.ts) against a separate server on this machine,
 * is limited in number and ends with its process.
 */
import http from 'node:http'
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export interface Target {
  url: string
  /** The attacker's key: a viewer's; a listener's for claims, a deployer's for uploads. */
  key: string
  listenerId: string
  /** A deployment that accepts uploads. */
  deploymentId: string
}

/** Counts answers by status; `closed`: the connection was closed. */
export type Tally = Record<string, number>

type Attack = (target: Target, tally: Tally) => Promise<void>

const agent = new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

function call(
  { url, key }: Target,
  tally: Tally,
  method: string,
  path: string,
  how: { body?: string; key?: string; accept?: string; stay?: boolean } = {},
): Promise<void> {
  return new Promise((resolve) => {
    const done = (what: string | number) => {
      tally[what] = (tally[what] ?? 0) + 1
      resolve()
    }
    const headers = {
      'x-api-key': how.key ?? key,
      ...(how.accept ? { accept: how.accept } : {}),
      ...(how.body ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(how.body) } : {}),
    }
    const request = http.request(url + path, { method, headers, agent }, (response) => {
      response.resume().once('error', () => done('closed'))
      if (how.stay && response.statusCode === 200) done('open')
      else response.once('end', () => done(response.statusCode!))
    })
    request.on('error', () => done('closed'))
    request.end(how.body)
  })
}

/** Runs `count` calls concurrently, forever. */
async function workers(count: number, work: (i: number) => Promise<void>): Promise<void> {
  let i = 0
  await Promise.all(
    Array.from({ length: count }, async () => {
      for (;;) await work(i++)
    }),
  )
}

/** Bodies of 3 to 12 KB, all different, so that no cache has them. */
function document(i: number): string {
  const shapes = [
    (n: number) => `{ ${'viewer { role } '.repeat(n)} }`,
    (n: number) => `{ ${'deployments(first: 1) { nodes { id latestRevision { id } } } '.repeat(n / 4)} }`,
    (n: number) =>
      `{ ${Array.from({ length: 90 }, (_, f) => `...F${f}`).join(' ')} } ${Array.from({ length: 90 }, (_, f) => `fragment F${f} on Query { viewer { role ${f < 89 ? `...G` : ''} } }`).join(' ')} fragment G on Viewer { ${'role '.repeat(n / 20)} }`,
    (n: number) => `{ deployments(first: 100) { nodes { id name status ${'name '.repeat(Math.min(90, n / 4))} } } }`,
    (n: number) => `{ viewer { ${Array.from({ length: n / 2 }, (_, f) => `unknown${f}`).join(' ')} } }`,
  ]
  return JSON.stringify({ query: `${shapes[i % shapes.length]!(200 + (i % 500))} # ${i}` })
}

export const ATTACKS: Record<string, Attack> = {
  'one valid key, 64 requests at once': (target, tally) =>
    workers(64, () => call(target, tally, 'GET', '/v2/deployments?limit=100')),
  'one valid key, 64 GraphQL lists at once': (target, tally) => {
    const body = JSON.stringify({
      query: '{ deployments(first: 50) { totalCount nodes { id name status latestRevision { id status } } } }',
    })
    return workers(64, () => call(target, tally, 'POST', '/graphql', { body }))
  },
  'unknown keys, 64 at once': (target, tally) =>
    workers(64, (i) => call(target, tally, 'GET', '/v2/deployments', { key: `cpk_guess_${i}` })),
  'heavy GraphQL documents, 20 at once': (target, tally) =>
    workers(20, (i) => call(target, tally, 'POST', '/graphql', { body: document(i) })),
  'GraphQL variables with 250,000 wrong values, 8 at once': (target, tally) => {
    const query = 'mutation ($input: CreateDeploymentInput!) { createDeployment(input: $input) { __typename } }'
    const body = JSON.stringify({ query, variables: { input: { secrets: Array(250_000).fill(1) } } })
    return workers(8, () => call(target, tally, 'POST', '/graphql', { body }))
  },
  'GraphQL documents of 400,000 lines, 8 at once': (target, tally) =>
    workers(8, (i) => {
      const query = `${'\n'.repeat(400_000)}{ viewer { ${Array.from({ length: 30 }, (_, f) => `unknown${i}_${f}`).join(' ')} } }`
      return call(target, tally, 'POST', '/graphql', { body: JSON.stringify({ query }) })
    }),
  'bodies of 1 MB, 32 at once': (target, tally) => {
    const body = JSON.stringify({ name: 'x'.repeat(1_000_000) })
    return workers(32, () => call(target, tally, 'POST', '/v2/deployments', { body }))
  },
  'upload addresses, 32 at once': (target, tally) =>
    workers(32, () => call(target, tally, 'POST', `/v2/deployments/${target.deploymentId}/upload-url`)),
  '5,000 waits': async (target, tally) => {
    const body = JSON.stringify({ max: 1, lease_seconds: 240, wait_seconds: 60 })
    const path = `/v2/listeners/${target.listenerId}/claims`
    await workers(5_000, async () => {
      await call(target, tally, 'POST', path, { body })
      await delay(1000)
    })
  },
  '14,000 streams': async (target, tally) => {
    const body = JSON.stringify({ query: 'subscription { revisionStatusChanged { to } }' })
    const open = () => call(target, tally, 'POST', '/graphql', { body, accept: 'text/event-stream', stay: true })
    for (let i = 0; i < 140; i++) await Promise.all(Array.from({ length: 100 }, open))
    await delay(600_000)
  },
  'slow headers on 4,000 connections': async ({ url }, tally) => {
    const { port, hostname } = new URL(url)
    await workers(4_000, async () => {
      const socket = net.connect(Number(port), hostname)
      const drip = setInterval(() => socket.write('X-A: b\r\n'), 500)
      socket.once('connect', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n'))
      socket.on('error', () => {}).resume()
      await new Promise((resolve) => socket.once('close', resolve))
      clearInterval(drip)
      tally.closed = (tally.closed ?? 0) + 1
      await delay(200)
    })
  },
}
