/**
 * A subscription's document as a rendering: it is executed once for each value of the stream and each group, however many
 * subscribe with the same document, variables and rights.
 */
import { createHash, randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { type DocumentNode, type ExecutionResult, execute, type GraphQLSchema } from 'graphql'
import { seesValues } from '../../../domain/transaction/access.ts'
import type { Core } from '../../../domain/transaction/context.ts'
import { Limit } from '../../../platform/async/limit.ts'
import type { Log } from '../../../platform/log/log.ts'
import type { Rendering } from '../../realtime/frames.ts'
import type { Relay } from '../../realtime/relay.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { presentError } from '../builder/errors.ts'
import { sharedVariables } from './shared-variables.ts'

export interface Operation {
  schema: GraphQLSchema
  /** validated */
  document: DocumentNode
  /** what the document was parsed from */
  text: string
  operationName?: string | null
  variables: Record<string, unknown>
  core: Core
  relay: Relay
  /** any of those who subscribe with it. Of the context of his request nothing else is kept: the rendering outlives it */
  caller: Pick<GraphQLContext, 'actor' | 'workspace'>
}

/** Values of one group that are executed at a time when their fields have to be read. */
const MAX_CONCURRENT_VALUES = 4
/** Groups whose fields have to be read, at a time: they leave connections of the pool to others. */
const READING_GROUPS = new Limit(4)
const FOREVER = new AbortController().signal
setMaxListeners(0, FOREVER)

/**
 * Nothing below a subscription's payload depends on the caller but by role, `secrets:read` and workspace: so the subject, by
 * which rate limits and tokens go, is not part of the key.
 */
export function graphqlRendering(operation: Operation): Rendering<unknown> {
  const { schema, document, text, operationName, variables, core, relay } = operation
  const { actor, workspace } = operation.caller
  const rights = [actor.organizationId, workspace.id, actor.role, actor.secretsRead, seesValues(actor)]
  const names = [text, operationName ?? null, sharedVariables(document, variables), rights]
  const key = createHash('sha256').update(JSON.stringify(names)).digest('base64url')
  let reads = false

  async function render(values: readonly unknown[]): Promise<string[]> {
    // what was loaded for an event is not good for the next one: its context has caches
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

/** A result as it is sent: errors as everywhere, without what only Yoga is to know. */
export function resultText({ errors, data }: ExecutionResult, log: Log, requestId: string): string {
  if (!errors) return JSON.stringify({ data })
  const presented = errors.map((error) => errorBody(error, log, requestId))
  return JSON.stringify(data === undefined ? { errors: presented } : { errors: presented, data })
}

function errorBody(error: unknown, log: Log, requestId: string): object {
  const { extensions, ...body } = presentError(error, log, requestId).toJSON()
  const { http: _, ...shown } = extensions ?? {}
  return { ...body, extensions: shown }
}
