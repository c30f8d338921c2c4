/** Query cost: each field costs 1, and a connection multiplies the cost below it by its page size. */
import { complexityFromQuery } from '@pothos/plugin-complexity'
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  Kind,
  visit,
} from 'graphql'

/** Allows 100 deployments with 5 revisions each and all their fields, but not 100 × 100 × 100 of anything. */
export const COST_LIMIT = 20_000

export function tooExpensive(cost: number): GraphQLError {
  return new GraphQLError(
    `This query costs ${cost}; at most ${COST_LIMIT} is allowed. Ask for smaller pages or fewer nested lists.`,
    { extensions: { code: 'VALIDATION_FAILED', http: { status: 400, spec: true } } },
  )
}

/** The cost of a connection: the page size multiplies the selection below it. */
export function pageCost(args: { first?: number | null; last?: number | null }): { field: number; multiplier: number } {
  return { field: 1, multiplier: Math.min(Math.max(args.first ?? args.last ?? 20, 1), 100) }
}

/** Rejects an expensive subscription at its start. The builder's own check would only run with each event. */
export function rejectExpensive(
  ctx: object,
  { schema, operation, fragments, variableValues: variables }: GraphQLResolveInfo,
): void {
  const definitions = [operation, ...Object.values(fragments)]
  const { complexity } = complexityFromQuery({ kind: Kind.DOCUMENT, definitions }, { schema, ctx, variables })
  if (complexity > COST_LIMIT) throw tooExpensive(complexity)
}

export interface CostQuery {
  schema: GraphQLSchema
  document: DocumentNode
  operationName?: string | null
  /** as sent by the client */
  variables: Record<string, unknown>
  ctx: object
}

/** All arguments that a field's cost may depend on. A test checks that cost functions read no others. */
export const SIZE_ARGUMENTS: readonly string[] = ['first', 'last', 'ids']

/** Costs of a document's operations by the values of their size variables. */
interface Costs {
  /** names of the variables that set a size */
  sizes: readonly string[]
  costs: Map<string, number>
}

const documentCosts = new WeakMap<DocumentNode, Costs>()
/** Per document. A client that sends different sizes each time is computed each time. */
const MAX_CACHED_COSTS = 200
/** Costs for longer size values are not cached. */
const MAX_SIZES_LENGTH = 500

/** The operation's cost. 0: it can't be computed, and the execution reports why. */
export function costOf(query: CostQuery): number {
  const { document, operationName, variables } = query
  const { sizes, costs } = documentCosts.get(document) ?? analyseSizes(document)
  const key = sizesText(operationName, sizes, variables)
  if (key === null) return compute(query)
  const before = costs.get(key)
  if (before !== undefined) return before
  const cost = compute(query)
  // other variables may succeed, so a failure is not cached
  if (cost === 0) return 0
  if (costs.size >= MAX_CACHED_COSTS) costs.clear()
  costs.set(key, cost)
  return cost
}

function analyseSizes(document: DocumentNode): Costs {
  const sizes = new Set<string>()
  visit(document, {
    Argument({ name, value }) {
      if (SIZE_ARGUMENTS.includes(name.value)) visit(value, { Variable: (node) => void sizes.add(node.name.value) })
      return false
    },
  })
  const analysed = { sizes: [...sizes], costs: new Map() }
  documentCosts.set(document, analysed)
  return analysed
}

/** The cache key. Null: not cached. An absent variable and null differ if the variable has a default. */
function sizesText(
  operationName: string | null | undefined,
  sizes: readonly string[],
  variables: Record<string, unknown>,
): string | null {
  if (sizes.length === 0) return operationName ?? ''
  const values = sizes.map((name) => (Object.hasOwn(variables, name) ? [variables[name]] : []))
  if (!values.every(([value]) => typeof value !== 'object' || value === null || isListOfTexts(value))) return null
  const text = `${JSON.stringify(values)} ${operationName ?? ''}`
  return text.length > MAX_SIZES_LENGTH ? null : text
}

function isListOfTexts(value: object): boolean {
  return Array.isArray(value) && value.length <= MAX_LIST_LENGTH && value.every((one) => typeof one === 'string')
}
const MAX_LIST_LENGTH = 10

function compute({ schema, document, operationName, variables, ctx }: CostQuery): number {
  const operation = getOperationAST(document, operationName)
  if (!operation) return 0
  // check with a bound first: the plugin creates an error per invalid value, and a request can contain 500,000
  const { errors } = getVariableValues(schema, operation.variableDefinitions ?? [], variables, { maxErrors: 1 })
  if (errors) return 0
  // the plugin reads only the first operation
  const definitions = [operation, ...document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)]
  try {
    return complexityFromQuery({ kind: Kind.DOCUMENT, definitions }, { schema, ctx, variables }).complexity
  } catch {
    return 0
  }
}
