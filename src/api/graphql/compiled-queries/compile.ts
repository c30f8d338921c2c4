/**
 * Compiles a query whose fields the query engine reads (builder/row-fields.ts) into SQL statements and a JSON writer. For every
 * error the compiled query throws, and Pothos answers instead. See README.md.
 */
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql'
import { withoutLastSeen } from '../../../domain/change-feed/version.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { Compilation, conditionVariables, NotCompilable, type Variables } from './compilation.ts'
import { rootReader } from './root-fields.ts'
import { constantWriter, type Execution } from './value-writers.ts'

export interface CompiledAnswer {
  /** JSON of `data` */
  data: string
  /** version that the answer was read at (domain/change-feed/version.ts); null: unknown, so the answer is not cached */
  version: string | null
  /** when the answer may change without a write; null: never */
  expiresAt: Date | null
}

export interface CompiledQuery {
  /** `variables`: coerced. Throws if Pothos must answer. */
  run(ctx: GraphQLContext, variables: Record<string, unknown>): Promise<CompiledAnswer>
}

interface Variant {
  write(execution: Execution): Promise<string>
  /** whether the answer contains the time of a listener's last call */
  showsLastSeen: boolean
}

/** Variables in `@skip` and `@include`: each combination of values is compiled separately. */
const MAX_CONDITIONS = 4

/** Null: the query can't be compiled. The document must be validated. */
export function compileQuery(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): CompiledQuery | null {
  if (operation.operation !== OperationTypeNode.QUERY || operation.directives?.length) return null
  const conditions = conditionVariables(document)
  if (conditions.length > MAX_CONDITIONS) return null
  const compileFor = (values: Variables) => compileVariant(new Compilation(schema, document, values), operation)
  if (conditions.length === 0) {
    const only = compileFor({})
    return only && { run: (ctx, variables) => runVariant(only, ctx, variables) }
  }
  const variants = new Map<string, Variant | null>()
  return {
    async run(ctx, variables) {
      const key = conditions.map((name) => variables[name]).join()
      let variant = variants.get(key)
      if (variant === undefined) {
        variant = compileFor(Object.fromEntries(conditions.map((name) => [name, variables[name]])))
        variants.set(key, variant)
      }
      if (!variant) throw new NotCompilable()
      return runVariant(variant, ctx, variables)
    },
  }
}

async function runVariant(variant: Variant, ctx: GraphQLContext, variables: Variables): Promise<CompiledAnswer> {
  const execution: Execution = { ctx, variables, now: ctx.clock(), expiresAtMs: Number.POSITIVE_INFINITY, versions: [] }
  const data = await variant.write(execution)
  const [version = null, ...others] = execution.versions
  // statements of one answer may have read different versions
  const isOne = version !== null && others.every((other) => other === version)
  return {
    data,
    version: isOne ? (variant.showsLastSeen ? version : withoutLastSeen(version)) : null,
    expiresAt: Number.isFinite(execution.expiresAtMs) ? new Date(execution.expiresAtMs) : null,
  }
}

function compileVariant(compilation: Compilation, operation: OperationDefinitionNode): Variant | null {
  try {
    const query = compilation.schema.getQueryType()!
    const fields = compilation.selectedFields(query, [operation.selectionSet]).map((selected) => {
      const name = JSON.stringify(selected.key)
      if (!selected.field) return { name, read: async () => constantWriter(query.name)() }
      return { name, read: rootReader(compilation, selected) }
    })
    return {
      showsLastSeen: compilation.showsLastSeen,
      async write(execution) {
        const members = await Promise.all(fields.map(async ({ name, read }) => `${name}:${await read(execution)}`))
        return `{${members.join(',')}}`
      },
    }
  } catch (error) {
    if (error instanceof NotCompilable || error instanceof GraphQLError) return null
    throw error
  }
}
