/** What a query may cost: each field costs 1, and what is below a connection costs that times the page's size. */
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

/** Lets 100 deployments with 5 revisions each and all their fields through, not 100 × 100 × 100 of anything. */
export const COST_LIMIT = 20_000

export function tooExpensive(cost: number): GraphQLError {
  return new GraphQLError(
    `This query costs ${cost}; at most ${COST_LIMIT} is allowed. Ask for smaller pages or fewer nested lists.`,
    { extensions: { code: 'VALIDATION_FAILED', http: { status: 400, spec: true } } },
  )
}

/** The cost of a connection: its page size multiplies what is selected below it. */
export function pageCost(args: { first?: number | null; last?: number | null }): { field: number; multiplier: number } {
  return { field: 1, multiplier: Math.min(Math.max(args.first ?? args.last ?? 20, 1), 100) }
}

/** Refuses a subscription that is too expensive when it begins: the builder's own check comes with each event. */
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
  /** as they were sent */
  variables: Record<string, unknown>
  ctx: object
}

/** The arguments that the cost of a field depends on, whichever field it is; a test looks that it reads no others. */
export const SIZE_ARGUMENTS: readonly string[] = ['first', 'last', 'ids']

/** What is known of a document: costs of its operations, by the values that sizes have. */
interface Costs {
  /** of the variables that say how large something is */
  sizes: readonly string[]
  costs: Map<string, number>
}

const documentCosts = new WeakMap<DocumentNode, Costs>()
/** Of one document: who asks for other sizes each time is computed each time. */
const MAX_CACHED_COSTS = 200
/** Characters of the values of sizes, beyond which they are not remembered. */
const MAX_SIZES_LENGTH = 500

/** What the operation that is to run costs; 0 where that can't be computed: then the execution reports what is wrong. */
export function costOf(query: CostQuery): number {
  const { document, operationName, variables } = query
  const { sizes, costs } = documentCosts.get(document) ?? analyseSizes(document)
  const key = sizesText(operationName, sizes, variables)
  if (key === null) return compute(query)
  const before = costs.get(key)
  if (before !== undefined) return before
  const cost = compute(query)
  // what could not be computed may be for the sake of other variables
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

/** Null: they are not worth remembering. That a variable is absent is another thing than null, where it has a default. */
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
  // first with a bound: the plugin makes an error of each value that is wrong, and a request has room for 500,000
  const { errors } = getVariableValues(schema, operation.variableDefinitions ?? [], variables, { maxErrors: 1 })
  if (errors) return 0
  // of several operations the plugin reads the first
  const definitions = [operation, ...document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)]
  try {
    return complexityFromQuery({ kind: Kind.DOCUMENT, definitions }, { schema, ctx, variables }).complexity
  } catch {
    return 0
  }
}
