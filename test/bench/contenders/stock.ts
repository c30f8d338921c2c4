/**
 * graphql-yoga with Pothos and Prisma, as their documentation combines them: a prismaObject per model, a
 * prismaConnection per list, one key look-up per request, and the workspace in each query.
 */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import { PrismaPg } from '@prisma/adapter-pg'
import { createYoga } from 'graphql-yoga'
import type PrismaTypes from '../../../src/generated/pothos-types.ts'
import { getDatamodel } from '../../../src/generated/pothos-types.ts'
import { PrismaClient } from '../../../src/generated/prisma/client.ts'

const prisma = new PrismaClient({
  adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL, max: 10, options: '-c TimeZone=UTC' }),
})

const builder = new SchemaBuilder<{
  PrismaTypes: PrismaTypes
  Context: { workspaceId: string }
  Scalars: { DateTime: { Input: Date; Output: Date } }
}>({
  plugins: [PrismaPlugin, RelayPlugin],
  prisma: { client: prisma, dmmf: getDatamodel() },
})
builder.scalarType('DateTime', {
  serialize: (date) => date.toISOString(),
  parseValue: (text) => new Date(String(text)),
})

builder.prismaObject('Listener', {
  fields: (t) => ({
    id: t.exposeID('id'),
    computeId: t.exposeString('computeId'),
    lastSeenAt: t.expose('lastSeenAt', { type: 'DateTime', nullable: true }),
  }),
})
builder.prismaObject('Revision', {
  fields: (t) => ({
    id: t.exposeID('id'),
    number: t.exposeInt('number'),
    status: t.exposeString('status'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})
builder.prismaObject('Deployment', {
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    source: t.exposeString('source'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    latestRevision: t.relation('latestRevision', { nullable: true }),
    activeRevision: t.relation('activeRevision', { nullable: true }),
    listener: t.relation('listener', { nullable: true }),
    revisions: t.relatedConnection('revisions', { cursor: 'id', query: { orderBy: { number: 'desc' } } }),
  }),
})
builder.queryType({
  fields: (t) => ({
    deployments: t.prismaConnection({
      type: 'Deployment',
      cursor: 'id',
      resolve: (query, _root, _args, { workspaceId }) =>
        prisma.deployment.findMany({
          ...query,
          where: { workspaceId, tornDownAt: null },
          orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        }),
    }),
    deployment: t.prismaField({
      type: 'Deployment',
      nullable: true,
      args: { id: t.arg.id({ required: true }) },
      resolve: (query, _root, { id }, { workspaceId }) =>
        prisma.deployment.findFirst({ ...query, where: { id: String(id), workspaceId, tornDownAt: null } }),
    }),
  }),
})

const known = new Map<string, Promise<string>>()
function workspaceOf(key: string): Promise<string> {
  let found = known.get(key)
  if (!found) {
    const hash = createHash('sha256').update(key).digest('hex')
    found = prisma.apiKey.findUniqueOrThrow({ where: { hash } }).then(({ workspaceId }) => workspaceId!)
    known.set(key, found)
  }
  return found
}

const yoga = createYoga({
  schema: builder.toSchema(),
  logging: false,
  context: async ({ request }) => ({ workspaceId: await workspaceOf(request.headers.get('x-api-key')!) }),
})
// oxlint-disable-next-line typescript/no-misused-promises -- as Yoga's documentation has it
createServer(yoga).listen(Number(process.env.PORT), '127.0.0.1')
