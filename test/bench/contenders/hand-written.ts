/**
 * What a good engineer would write for only these routes: Fastify with response schemas, and prepared statements over
 * `pg`. Its answers equal those of our REST API, or have the fields of the GraphQL documents.
 */
import { createHash, randomUUID } from 'node:crypto'
import Fastify, { type FastifyRequest } from 'fastify'
import pg from 'pg'
import { answers } from './hand-written-answers.ts'
import { statements as sql } from './hand-written-statements.ts'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const app = Fastify()
/** Workspace ids by key. */
const known = new Map<string, Promise<string>>()

async function workspaceOf({ headers }: FastifyRequest): Promise<string> {
  const key = String(headers['x-api-key'])
  let found = known.get(key)
  if (!found) {
    const hash = createHash('sha256').update(key).digest('hex')
    found = pool
      .query('SELECT workspace_id FROM api_keys WHERE hash = $1 AND revoked_at IS NULL', [hash])
      .then(({ rows }) => rows[0].workspace_id)
    known.set(key, found)
  }
  return found
}

type Db = Pick<pg.PoolClient, 'query'>
// biome-ignore lint/suspicious/noExplicitAny: rows of a statement
const run = async (db: Db, name: keyof typeof sql, values: unknown[]): Promise<any[]> =>
  (await db.query({ name, text: sql[name], values })).rows

async function transaction<T>(work: (db: Db) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}

const revisionOf = (row: Record<string, unknown>, is: string) =>
  row[`${is}_id`] === null
    ? null
    : {
        id: row[`${is}_id`],
        number: row[`${is}_number`],
        status: row[`${is}_status`],
        createdAt: row[`${is}_created_at`],
      }
const listenerOf = (row: Record<string, unknown>) =>
  row.l_id === null ? null : { id: row.l_id, computeId: row.l_compute_id, lastSeenAt: row.l_last_seen_at }
const summaryOf = (row: Record<string, unknown>) => ({
  id: row.id,
  name: row.name,
  source: row.source,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

type Page = FastifyRequest<{ Querystring: { limit: number; after?: string } }>
app.get('/list', { schema: answers.page }, async (request: Page) => {
  const { limit, after } = request.query
  const [at, id] = after
    ? after.split(',')
    : [new Date(Date.now() + 86_400_000), '00000000-0000-0000-0000-000000000000']
  const rows = await run(pool, 'page', [await workspaceOf(request), at, id, Number(limit)])
  const nodes = rows.map((row) => ({
    ...summaryOf(row),
    latestRevision: revisionOf(row, 'latest'),
    activeRevision: revisionOf(row, 'active'),
    listener: listenerOf(row),
  }))
  const last = rows.at(-1)
  return { nodes, endCursor: last ? `${last.created_at.toISOString()},${last.id}` : null }
})

type One = FastifyRequest<{ Params: { id: string; revision: string } }>
app.get('/one/:id', { schema: answers.one }, async (request: One) => {
  const [row] = await run(pool, 'one', [await workspaceOf(request), request.params.id])
  const revisions = await run(pool, 'newestRevisions', [request.params.id, 10])
  return { ...summaryOf(row), listener: listenerOf(row), revisions }
})

const deploymentAnswer = (row: Record<string, unknown>) => ({
  ...row,
  source_config: row,
  source_revision_config: row,
  secrets: [],
  status: row.status === 'DEPLOYED' ? 'READY' : 'AWAITING_UPDATE',
  serving: false,
  status_message: 'No worker reports on it at the moment, so it is unknown whether it serves.',
  reason: 'NOT_OBSERVED',
  reason_since: null,
  why_not_live: 'No worker reports on it at the moment, so it is unknown whether it serves.',
  health: row.health ?? {
    ready: 0,
    desired: 1,
    message: 'No worker reports on it at the moment, so it is unknown whether it serves.',
    reason: 'NOT_OBSERVED',
    observed_at: null,
  },
})

type Offset = FastifyRequest<{ Querystring: { limit: number; offset: number } }>
app.get('/v2/deployments', { schema: answers.deployments }, async (request: Offset) => {
  const [limit, offset] = [Number(request.query.limit), Number(request.query.offset)]
  const rows = await run(pool, 'deployments', [await workspaceOf(request), limit, offset])
  return { resources: rows.map(deploymentAnswer), offset: rows.length < limit ? null : offset + limit }
})

app.get('/v2/deployments/:id/revisions/:revision', { schema: answers.revision }, async (request: One, reply) => {
  const { id, revision } = request.params
  const [row] = await run(pool, 'revision', [await workspaceOf(request), id, revision])
  if (!row) return reply.code(404).send()
  const tag = `"${row.attempt}-${row.updated_at.getTime()}"`
  reply.header('etag', tag)
  if (request.headers['if-none-match'] === tag) return reply.code(304).send()
  return { ...row, source_revision_config: row }
})

type Event = [type: string, revision: string | null, from: string | null, to: string | null]
async function append(db: Db, workspace: string, deployment: string, events: Event[]): Promise<void> {
  const column = (at: number) => events.map((event) => event[at])
  await run(db, 'appendEvents', [workspace, events.length, deployment, column(0), column(1), column(2), column(3)])
  await db.query(`SELECT pg_notify('hand_written', $1)`, [workspace])
}

interface Body {
  name: string
  source: string
  source_config: { listener_id: string; listener_config: { k8s_namespace: string } }
  source_revision_config: { image_uri: string }
}

app.post('/v2/deployments', { schema: answers.deployment }, async (request: FastifyRequest<{ Body: Body }>, reply) => {
  const { name, source, source_config: config, source_revision_config: revision } = request.body
  const workspace = await workspaceOf(request)
  const [id, revisionId] = [randomUUID(), randomUUID()]
  const row = await transaction(async (db) => {
    const { listener_id: listener, listener_config: of } = config
    const uri = revision.image_uri
    await run(db, 'create', [id, workspace, name, source, listener, of.k8s_namespace, revisionId, uri, randomUUID()])
    const [made] = await run(db, 'deployment', [workspace, id])
    await append(db, workspace, id, [
      ['deployment.created', null, null, null],
      ['revision.created', revisionId, null, null],
    ])
    return made
  })
  return reply.code(201).send(deploymentAnswer(row))
})

type Patch = FastifyRequest<{ Params: { id: string }; Body: Body }>
app.patch('/v2/deployments/:id', { schema: answers.deployment }, async (request: Patch) => {
  const workspace = await workspaceOf(request)
  const { id } = request.params
  const revisionId = randomUUID()
  const row = await transaction(async (db) => {
    const [locked] = await run(db, 'lockDeployment', [workspace, id])
    const skipped = await run(db, 'skipWaiting', [id])
    await run(db, 'insertRevision', [
      revisionId,
      id,
      locked.revision_count + 1,
      locked.source,
      request.body.source_revision_config.image_uri,
    ])
    await run(db, 'reviseDeployment', [id, revisionId])
    await run(db, 'replaceStep', [randomUUID(), id, revisionId])
    const [left] = await run(db, 'deployment', [workspace, id])
    await append(db, workspace, id, [
      ...skipped.map((one): Event => ['revision.status', one.id, 'AWAITING_DEPLOY', 'SKIPPED']),
      ['deployment.updated', null, null, null],
      ['revision.created', revisionId, null, null],
      ['revision.status', revisionId, 'CREATING', 'AWAITING_DEPLOY'],
    ])
    return left
  })
  return deploymentAnswer(row)
})

type Redeploy = FastifyRequest<{ Params: { id: string; revision: string } }>
app.post(
  '/v2/deployments/:id/revisions/:revision/redeploy',
  { schema: answers.deployment },
  async (request: Redeploy) => {
    const workspace = await workspaceOf(request)
    const { id, revision } = request.params
    const row = await transaction(async (db) => {
      await run(db, 'lockDeployment', [workspace, id])
      const skipped = await run(db, 'skipWaiting', [id])
      await run(db, 'restartRevision', [revision])
      await run(db, 'touchDeployment', [id])
      await run(db, 'replaceStep', [randomUUID(), id, revision])
      const [left] = await run(db, 'deployment', [workspace, id])
      await append(db, workspace, id, [
        ...skipped.map((one): Event => ['revision.status', one.id, 'AWAITING_DEPLOY', 'SKIPPED']),
        ['revision.status', revision, 'DEPLOYED', 'AWAITING_DEPLOY'],
      ])
      return left
    })
    return deploymentAnswer(row)
  },
)

app.get('/ready', () => ({}))
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
