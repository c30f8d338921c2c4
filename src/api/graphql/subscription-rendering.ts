/**
 * Renders a subscription's document: it executes once per event and group of subscribers that share document, variables and
 * rights.
 */
import { createHash, randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { type DocumentNode, type ExecutionResult, execute, type GraphQLSchema, Kind, visit } from 'graphql'
import { seesValues } from '../../domain/transaction/access.ts'
import type { Core } from '../../domain/transaction/context.ts'
import { Semaphore } from '../../platform/async/semaphore.ts'
import type { Log } from '../../platform/log/log.ts'
import type { Rendering } from '../realtime/frames.ts'
import type { Relay } from '../realtime/relay.ts'
import type { GraphQLContext } from './builder/context.ts'
import { errorBody } from './builder/errors.ts'

export interface Operation {
  schema: GraphQLSchema
  /** must be validated */
  document: DocumentNode
  /** source text of the document */
  text: string
  operationName?: string | null
  variables: Record<string, unknown>
  core: Core
  relay: Relay
  /** any subscriber of the group. Only these parts of the context are kept, because the rendering outlives the request. */
  caller: Pick<GraphQLContext, 'actor' | 'workspace'>
}

/** Concurrent executions within one group if fields read from the database. */
const MAX_CONCURRENT_VALUES = 4
/** Limits groups that read concurrently, so that other requests get connections of the pool. */
const READING_GROUPS = new Semaphore(4)
const FOREVER = new AbortController().signal
setMaxListeners(0, FOREVER)

/**
 * Below a subscription's payload only role, `secrets:read` and workspace of the caller matter. So the subject, which rate
 * limits and tokens use, is not part of the key.
 */
export function graphqlRendering(operation: Operation): Rendering {
  const { schema, document, text, operationName, variables, core, relay } = operation
  const { actor, workspace } = operation.caller
  const rights = [actor.organizationId, workspace.id, actor.role, actor.secretsRead, seesValues(actor)]
  const names = [text, operationName ?? null, sharedVariables(document, variables), rights]
  const key = createHash('sha256').update(JSON.stringify(names)).digest('base64url')
  let reads = false

  async function render(values: readonly unknown[]): Promise<string[]> {
    // a new context per call: its caches must not serve later events
    const requestId = randomUUID()
    const contextValue = { relay, actor, workspace, requestId, ...core }
    const one = (rootValue: unknown) =>
      execute({ schema, document, operationName, variableValues: variables, rootValue, contextValue })
    const texts: string[] = []
    for (let from = 0; from < values.length; from += MAX_CONCURRENT_VALUES) {
      const results = values.slice(from, from + MAX_CONCURRENT_VALUES).map(one)
      reads ||= results.some((result) => result instanceof Promise)
      for (const result of reads ? await Promise.all(results) : (results as ExecutionResult[]))
        texts.push(resultText(result, core.log, requestId))
    }
    return texts
  }

  return {
    key,
    render: (values) => (reads ? READING_GROUPS.run(FOREVER, () => render(values)) : render(values)),
  }
}

/** The JSON text of a result. Errors are presented, without the members for Yoga. */
export function resultText({ errors, data }: ExecutionResult, log: Log, requestId: string): string {
  if (!errors) return JSON.stringify({ data })
  const presented = errors.map((error) => errorBody(error, log, requestId))
  return JSON.stringify(data === undefined ? { errors: presented } : { errors: presented, data })
}

/** The argument with the start position of a stream. */
const CURSOR_ARGUMENT = 'after'

/**
 * All variables except those used only as `after` of a subscription's root field, because reconnected clients would
 * otherwise never share a group again.
 */
function sharedVariables(
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const cursorVariables = cursorVariablesOf(document)
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !cursorVariables.has(name)))
}

const cache = new WeakMap<DocumentNode, ReadonlySet<string>>()

function cursorVariablesOf(document: DocumentNode): ReadonlySet<string> {
  const found = cache.get(document)
  if (found) return found
  const cursorVariables = new Set<string>()
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue
    for (const field of definition.selectionSet.selections)
      for (const { name, value } of field.kind === Kind.FIELD ? (field.arguments ?? []) : [])
        if (name.value === CURSOR_ARGUMENT && value.kind === Kind.VARIABLE) cursorVariables.add(value.name.value)
  }
  const uses = new Map<string, number>()
  visit(document, {
    VariableDefinition: ({ defaultValue }) => (defaultValue ? undefined : false),
    Variable({ name }) {
      uses.set(name.value, (uses.get(name.value) ?? 0) + 1)
    },
  })
  for (const name of cursorVariables) if (uses.get(name) !== 1) cursorVariables.delete(name)
  cache.set(document, cursorVariables)
  return cursorVariables
}
