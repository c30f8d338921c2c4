/** The two compared servers on one Postgres: ours as `npm start` runs it, and a stock graphql-yoga. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { appendEvents, EVENT_CHANNEL } from '../../../src/domain/outbox/append.ts'
import { freePort } from '../../support/free-port.ts'
import { cpuOf } from '../measure/usage.ts'
import { startPostgres } from '../place/postgres.ts'
import { type Program, start, untilReady } from '../place/processes.ts'
import { ROOT, type Server, startServer } from '../place/server.ts'
import { INSPECTABLE } from './collected.ts'

export interface Streaming {
  name: string
  program: Program
  url: string
  keys: string[]
  /** Resolves when it is written. */
  publish(message: string): Promise<void>
  /** CPU time in ms so far, of the server and its helpers. */
  cpu(): number | null
  end(): Promise<void>
}

/** Clients with separate keys, because no key may have all streams of its workspace. */
const KEYS = 25

export async function ours(folder: string): Promise<Streaming> {
  const postgres = await startPostgres(`${folder}/postgres`)
  const server = await startServer(folder, postgres.url, { env: INSPECTABLE })
  const keys: string[] = []
  while (keys.length < KEYS) keys.push(await issued(server, `bench ${keys.length}`))
  const { rows } = await postgres.pool.query<{ id: string }>('SELECT id FROM workspaces')
  const event = {
    workspaceId: rows[0]!.id,
    type: 'revision.status',
    deploymentId: randomUUID(),
    revisionId: randomUUID(),
    from: 'BUILDING',
    to: 'AWAITING_DEPLOY',
    attempt: 1,
  } as const
  return {
    name: 'Pilothouse',
    program: server,
    url: server.url,
    keys,
    async publish(message) {
      // notifies after the commit, as every transaction of a server does
      await appendEvents(
        async (statement, values) => (await postgres.pool.query({ ...statement, values: [...values] })).rows,
        [{ ...event, message }],
      )
      await postgres.pool.query('SELECT pg_notify($1, $2)', [EVENT_CHANNEL, event.workspaceId])
    },
    cpu() {
      const all = [cpuOf(server.pid), cpuOf(postgres.pid)]
      return all[0] === null || all[1] === null ? null : all[0]! + all[1]!
    },
    async end() {
      await server.end()
      await postgres.stop()
    },
  }
}

const ISSUE = `mutation Issue($name: String!) { createApiKey(input: { name: $name, role: viewer }) {
  ... on CreateApiKeySuccess { key } } }`

async function issued({ url, key }: Server, name: string): Promise<string> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ query: ISSUE, variables: { name } }),
  })
  const answer = await response.json()
  const text = answer.data?.createApiKey.key
  if (!text) throw new Error(JSON.stringify(answer))
  return text
}

export async function stock(folder: string): Promise<Streaming> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const file = fileURLToPath(new URL('./stock.mjs', import.meta.url))
  const program = start('stock', folder, [process.execPath, file], {
    cwd: ROOT,
    env: { ...INSPECTABLE, PORT: String(port), NODE_ENV: 'production' },
    ipc: true,
  })
  await untilReady(program, `${url}/graphql?query={nothing}`, folder)
  return {
    name: 'stock graphql-yoga',
    program,
    url,
    keys: ['none'],
    async publish(message) {
      program.child.send({ publish: message })
      await once(program.child, 'message')
    },
    cpu: () => cpuOf(program.pid),
    end: () => program.end(),
  }
}
