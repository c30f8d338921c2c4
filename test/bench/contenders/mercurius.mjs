/** Mercurius with its JIT and loaders, as its documentation recommends, and `pg`. */
import { createHash } from 'node:crypto'
import Fastify from 'fastify'
import { GraphQLScalarType } from 'graphql'
import mercurius from 'mercurius'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const rowsOf = async (name, text, values) => (await pool.query({ name, text, values })).rows

const schema = `
  scalar DateTime
  type Listener { id: ID! computeId: String! lastSeenAt: DateTime }
  type Revision { id: ID! number: Int! status: String! createdAt: DateTime! }
  type RevisionConnection { nodes: [Revision!]! }
  type PageInfo { endCursor: String hasNextPage: Boolean! }
  type Edge { cursor: String! node: Deployment! }
  type DeploymentConnection { edges: [Edge!]! pageInfo: PageInfo! }
  type Deployment {
    id: ID! name: String! source: String! createdAt: DateTime! updatedAt: DateTime!
    latestRevision: Revision activeRevision: Revision listener: Listener revisions(first: Int!): RevisionConnection!
  }
  type Query { deployments(first: Int!, after: String): DeploymentConnection!  deployment(id: ID!): Deployment }`

const COLUMNS = `id, name, source, created_at AS "createdAt", updated_at AS "updatedAt", latest_revision_id, active_revision_id, listener_id`
const REVISION = `id, number, status, created_at AS "createdAt"`
const FIRST = ['infinity', '00000000-0000-0000-0000-000000000000']
const encode = ({ createdAt, id }) => Buffer.from(JSON.stringify([createdAt, id])).toString('base64url')
const decode = (cursor) => JSON.parse(Buffer.from(cursor, 'base64url').toString())

const resolvers = {
  DateTime: new GraphQLScalarType({ name: 'DateTime', serialize: (date) => date.toISOString() }),
  Query: {
    async deployments(_root, { first, after }, { workspaceId }) {
      const rows = await rowsOf(
        'page',
        `SELECT ${COLUMNS} FROM deployments WHERE workspace_id = $1 AND (created_at, id) < ($2, $3) AND torn_down_at IS NULL
         ORDER BY created_at DESC, id DESC LIMIT $4`,
        [workspaceId, ...(after ? decode(after) : FIRST), first + 1],
      )
      const page = rows.slice(0, first)
      const endCursor = page.length > 0 ? encode(page.at(-1)) : null
      return {
        edges: page.map((node) => ({ cursor: encode(node), node })),
        pageInfo: { endCursor, hasNextPage: rows.length > first },
      }
    },
    async deployment(_root, { id }, { workspaceId }) {
      const text = `SELECT ${COLUMNS} FROM deployments WHERE workspace_id = $1 AND id = $2 AND torn_down_at IS NULL`
      return (await rowsOf('one', text, [workspaceId, id]))[0] ?? null
    },
  },
}

const byId = (name, columns, table, key) => async (queries) => {
  const ids = [...new Set(queries.map(({ obj }) => obj[key]).filter(Boolean))]
  const rows = await rowsOf(name, `SELECT ${columns} FROM ${table} WHERE id = ANY ($1)`, [ids])
  const found = new Map(rows.map((row) => [row.id, row]))
  return queries.map(({ obj }) => found.get(obj[key]) ?? null)
}
const loaders = {
  Deployment: {
    latestRevision: { loader: byId('latest', REVISION, 'revisions', 'latest_revision_id'), opts: { cache: false } },
    activeRevision: { loader: byId('active', REVISION, 'revisions', 'active_revision_id'), opts: { cache: false } },
    listener: {
      loader: byId(
        'listener',
        'id, compute_id AS "computeId", last_seen_at AS "lastSeenAt"',
        'listeners',
        'listener_id',
      ),
      opts: { cache: false },
    },
    revisions: {
      async loader(queries) {
        const rows = await rowsOf(
          'revisions',
          `SELECT ${REVISION}, deployment_id FROM unnest($1::uuid[]) d(wanted), LATERAL (
             SELECT * FROM revisions WHERE deployment_id = d.wanted ORDER BY number DESC LIMIT $2) r`,
          [queries.map(({ obj }) => obj.id), queries[0].params.first],
        )
        return queries.map(({ obj }) => ({ nodes: rows.filter((row) => row.deployment_id === obj.id) }))
      },
      opts: { cache: false },
    },
  },
}

const known = new Map()
async function workspaceOf(key) {
  if (!known.has(key)) {
    const hash = createHash('sha256').update(key).digest('hex')
    const found = pool.query('SELECT workspace_id FROM api_keys WHERE hash = $1', [hash])
    known.set(
      key,
      found.then(({ rows }) => rows[0].workspace_id),
    )
  }
  return known.get(key)
}

const app = Fastify()
app.register(mercurius, {
  schema,
  resolvers,
  loaders,
  jit: 1,
  context: async (request) => ({ workspaceId: await workspaceOf(request.headers['x-api-key']) }),
})
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
