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
import type { Window } from '../../../domain/paging/paging.ts'
import type { Reading } from '../../../domain/query-engine/reading.ts'
import { type Raw, RowSelection } from '../../../domain/query-engine/rows.ts'
import { PlannedRead, versionOf } from '../../../domain/query-engine/statement.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { type Lookup, type RootPage, rootFieldOf } from '../builder/row-fields.ts'
import {
  argumentReader,
  Compilation,
  conditionVariables,
  NotCompilable,
  objectType,
  type SelectedField,
  type Variables,
} from './compilation.ts'
import { connectionWriter } from './connection-writer.ts'
import { nodeWriter, rowWriter } from './object-writer.ts'
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

/** Reads one root field as JSON. Throws errors that Pothos then presents. */
type RootReader = (execution: Execution) => Promise<string>

/** With more joins Postgres spends more time on planning than one statement saves. */
const MAX_JOINS = 12

/** Root fields that can be compiled: those that builder/row-fields.ts declares. Each runs one statement. */
function rootReader(compilation: Compilation, selected: SelectedField): RootReader {
  const root = rootFieldOf(selected.field!)
  if (!root) throw new NotCompilable()
  return 'lookup' in root ? lookup(compilation, selected, root.lookup) : page(compilation, selected, root.page)
}

/** Returns the reading of a call. It leaves the rows as they are; the writers decode them. */
function plannedRead(rows: RowSelection): (execution: Execution) => Reading<Raw> {
  if (rows.joins > MAX_JOINS) throw new NotCompilable()
  const planned = new PlannedRead(rows)
  return ({ variables }) => ({
    send: (core, source) => planned.read(core, { ...source, variables }),
    decode: (row) => row,
  })
}

function lookup(compilation: Compilation, selected: SelectedField, { table, read }: Lookup): RootReader {
  const args = argumentReader<{ id: string }>(selected)
  const rows = new RowSelection(table)
  const write = rowWriter(compilation, objectType(selected), rows.root, selected.below)
  const reading = plannedRead(rows)
  return async (execution) => {
    const row = await read(execution.ctx, args(execution.variables).id, reading(execution))
    execution.versions.push(versionOf([row]))
    return write(row, execution)
  }
}

function page(
  compilation: Compilation,
  selected: SelectedField,
  { table, sort, read, cursorOf, dependsOnClock }: RootPage<Window, object>,
): RootReader {
  const args = argumentReader<Window>(selected)
  const rows = new RowSelection(table)
  const sorted = rows.root.reader(sort)
  let counts = false
  const write = connectionWriter(compilation, selected, nodeWriter(compilation, rows.root), () => {
    counts = true
  })
  const reading = plannedRead(rows)
  return async (execution) => {
    const { ctx, variables } = execution
    const window = args(variables)
    if (dependsOnClock?.(window)) execution.expiresAtMs = execution.now.getTime()
    const slice = await read(ctx, reading(execution), window, counts)
    if (counts && !slice.total) throw new NotCompilable()
    execution.versions.push(versionOf(slice.rows))
    return write({ slice, window, cursorOf: (row) => cursorOf(sorted(row), window), total: slice.total }, execution)
  }
}
