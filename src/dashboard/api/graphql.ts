/** GraphQL documents, typed by the schema. `npm run check` compares every one of them with schema.graphql. */
import { initGraphQLTada } from 'gql.tada'
import type { introspection } from './schema-types.d.ts'

/** Declares a document. Put it next to the component that shows its fields. */
export const graphql = initGraphQLTada<{
  introspection: introspection
  scalars: {
    /** ISO 8601, in UTC */
    DateTime: string
    JSONObject: Record<string, unknown>
  }
}>()

export { type FragmentOf, type ResultOf, readFragment, type VariablesOf } from 'gql.tada'
