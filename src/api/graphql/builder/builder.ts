/**
 * The Pothos builder that every type of the schema is made with. Plugins: errors (before prisma, so that a result's
 * selection is seen through the union), prisma (a page and its nested parts in one SQL statement), relay
 * (connections), complexity (what a query may cost).
 */
import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import ErrorsPlugin from '@pothos/plugin-errors'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import { DateTimeResolver, JSONObjectResolver } from 'graphql-scalars'
import { ForbiddenError, ValidationError } from '../../../domain/errors/errors.ts'
import type { Total } from '../../../domain/paging/total.ts'
import type PrismaTypes from '../../../generated/pothos-types.ts'
import { getDatamodel } from '../../../generated/pothos-types.ts'
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

export const builder = new SchemaBuilder<Types>({
  plugins: [ErrorsPlugin, PrismaPlugin, RelayPlugin, ComplexityPlugin],
  defaultFieldNullability: false,
  errors: {
    // every write checks its role and parses its input
    defaultTypes: [ValidationError, ForbiddenError],
    directResult: true,
    defaultUnionOptions: { name: ({ fieldName }) => `${fieldName[0]!.toUpperCase()}${fieldName.slice(1)}Result` },
  },
  prisma: {
    client: (ctx) => ctx.db,
    dmmf: getDatamodel(),
    // a resolver that forgets the selection it was given would bring the N+1 back
    onUnusedQuery: 'error',
  },
  relay: {
    // ids are the same UUIDs as in REST: `node` finds out the type by a look-up (types/node.ts)
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    nodeTypeOptions: { description: 'Anything that has an id. Ids are UUIDs, unique across all types.' },
    pageInfoTypeOptions: { description: 'Where a page of a connection ends, and whether there is more.' },
    nodesOnConnection: true,
    edgesFieldOptions: { nullable: { list: false, items: false } },
    nodeFieldOptions: { nullable: false },
  },
  complexity: {
    // what was computed before the operation began is not computed once more
    limit: ({ cost }) => (cost !== undefined && cost <= COST_LIMIT ? {} : { complexity: COST_LIMIT }),
    // a connection multiplies by the size that was asked for; its `edges` and `nodes` must not multiply again
    defaultListMultiplier: 1,
    complexityError: (_kind, { complexity }) => tooExpensive(complexity),
  },
})

builder.queryType({ description: 'Reads. Everything is within the caller’s workspace.' })
builder.mutationType({
  description: 'Writes, one for each write of the REST API. Each result is a union of the success and the errors.',
})
builder.subscriptionType({ description: 'Live streams, over SSE.' })

builder.addScalarType('DateTime', DateTimeResolver)
builder.addScalarType('JSONObject', JSONObjectResolver)

builder.globalConnectionField('totalCount', (t) =>
  t.int({
    description:
      'How many there are in all, whatever the page: counted up to 10,000, reckoned beyond. Only when it is asked for.',
    resolve: async (connection) => (await connection.total()).count,
  }),
)
builder.globalConnectionField('totalCountIsEstimate', (t) =>
  t.boolean({
    description: 'true: there are more than 10,000, and `totalCount` says about how many.',
    resolve: async (connection) => (await connection.total()).isEstimate,
  }),
)
