/**
 * The Pothos builder of the schema. Plugin order matters: errors comes before prisma, so that prisma finds the selection
 * inside the result union.
 */
import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import ErrorsPlugin from '@pothos/plugin-errors'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import { DateTimeResolver, JSONObjectResolver } from 'graphql-scalars'
import { ForbiddenError, NotFoundError, ValidationError } from '../../../domain/errors/errors.ts'
import type { NodeType } from '../../../domain/nodes.ts'
import type { Total } from '../../../domain/paging/total.ts'
import type { Selection } from '../../../domain/query-engine/rows.ts'
import type PrismaTypes from '../../../generated/pothos-types.ts'
import { getDatamodel } from '../../../generated/pothos-types.ts'
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { loadRow } from './batch.ts'
import type { GraphQLContext } from './context.ts'
import { COST_LIMIT, tooExpensive } from './cost.ts'

export interface Types {
  Context: GraphQLContext
  PrismaTypes: PrismaTypes
  DefaultFieldNullability: false
  DefaultNodeNullability: false
  DefaultEdgesNullability: { list: false; items: false }
  Connection: { total: () => Promise<Total> }
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    JSONObject: { Input: Record<string, unknown>; Output: Record<string, unknown> }
  }
}

/** The tables that the query engine reads. */
const ENGINE_TABLES: Readonly<Record<string, NodeType>> = {
  deployment: 'Deployment',
  revision: 'Revision',
  listener: 'Listener',
}

/** Pothos reads a row again for fields that it lacks, for example if two fields have different arguments. */
function clientOf(ctx: GraphQLContext): PrismaClient {
  return new Proxy(ctx.db, {
    get(db, name: keyof PrismaClient & string) {
      const type = ENGINE_TABLES[name]
      return type ? { findUniqueOrThrow: (query: OneRow) => reload(ctx, type, query) } : db[name]
    },
  })
}

interface OneRow extends Selection {
  where: { id: string }
}

async function reload(ctx: GraphQLContext, type: NodeType, { where: { id }, ...selection }: OneRow): Promise<object> {
  const row = await loadRow<object>(ctx, type, id, selection)
  if (!row) throw new NotFoundError(type, id)
  return row
}

export const builder = new SchemaBuilder<Types>({
  plugins: [ErrorsPlugin, PrismaPlugin, RelayPlugin, ComplexityPlugin],
  defaultFieldNullability: false,
  errors: {
    // every mutation checks the role and parses its input
    defaultTypes: [ValidationError, ForbiddenError],
    directResult: true,
    defaultUnionOptions: { name: ({ fieldName }) => `${fieldName[0]!.toUpperCase()}${fieldName.slice(1)}Result` },
  },
  prisma: {
    client: clientOf,
    dmmf: getDatamodel(),
    // a resolver that ignores its selection would cause N+1 queries
    onUnusedQuery: 'error',
  },
  relay: {
    // ids are the same UUIDs as in REST; `node` looks the type up (types/node.ts)
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    nodeTypeOptions: { description: 'A resource with an id. Ids are UUIDs, unique across all types.' },
    pageInfoTypeOptions: { description: 'The first and last cursor of a page, and whether there are more pages.' },
    nodesOnConnection: true,
    edgesFieldOptions: { nullable: { list: false, items: false } },
    nodeFieldOptions: { nullable: false },
  },
  complexity: {
    // the cost is usually known before the execution begins
    limit: ({ cost }) => (cost !== undefined && cost <= COST_LIMIT ? {} : { complexity: COST_LIMIT }),
    // a connection already multiplies by its page size; `edges` and `nodes` must not multiply again
    defaultListMultiplier: 1,
    complexityError: (_kind, { complexity }) => tooExpensive(complexity),
  },
})

builder.queryType({ description: 'All queries. They read only the caller’s workspace.' })
builder.mutationType({
  description:
    'All mutations, one for each write of the REST API. Each result is a union of the success type and the errors.',
})
builder.subscriptionType({ description: 'Live streams over SSE or WebSocket.' })

builder.addScalarType('DateTime', DateTimeResolver)
builder.addScalarType('JSONObject', JSONObjectResolver)

builder.globalConnectionField('totalCount', (t) =>
  t.int({
    description:
      'The number of items on all pages: exact up to 10,000, estimated above. It is only counted if selected.',
    resolve: async (connection) => (await connection.total()).count,
  }),
)
builder.globalConnectionField('totalCountIsEstimate', (t) =>
  t.boolean({
    description: 'Whether `totalCount` is an estimate, because there are more than 10,000 items.',
    resolve: async (connection) => (await connection.total()).isEstimate,
  }),
)
