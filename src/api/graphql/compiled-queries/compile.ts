/**
 * Hot reads: a query of which every field stands in the table (field-table.ts) is compiled once into statements that return just
 * what was asked for, and a writer that makes the text of the answer from their rows. A plan knows the good cases alone: for
 * whatever goes wrong it throws, and the caller lets Pothos answer. A test compares the two, byte by byte.
 */
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql'
import { withoutHeard } from '../../../domain/cache-version/version.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { ROOTS } from './root-fields.ts'
import { conditionsOf, NotHot, Scope, type Variables } from './compilation.ts'
import { type Answering, constant } from './value-writers.ts'

export interface HotAnswer {
  /** JSON of `data` */
  data: string
  /** what the answer was read at (domain/cache-version/version.ts); null: not known, then it is not kept */
  version: string | null
  /** when the passing of time alone may change it; null: never */
  holdsUntil: Date | null
}

export interface HotPlan {
  /** `variables`: coerced. Throws where Pothos has to answer. */
  run(ctx: GraphQLContext, variables: Record<string, unknown>): Promise<HotAnswer>
}

interface Compiled {
  write(answer: Answering): Promise<string>
  /** whether it shows when a listener was last heard */
  showsHeard: boolean
}

/** Of so many variables `@skip` and `@include` may depend: each combination is a plan of its own. */
const MOST_CONDITIONS = 4

/** Null: something in it is not hot. The document has been validated. */
export function planHot(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): HotPlan | null {
  if (operation.operation !== OperationTypeNode.QUERY || operation.directives?.length) return null
  const conditions = conditionsOf(document)
  if (conditions.length > MOST_CONDITIONS) return null
  const compiled = (values: Variables) => compile(new Scope(schema, document, values), operation)
  if (conditions.length === 0) {
    const only = compiled({})
    return only && { run: (ctx, variables) => answerOf(only, ctx, variables) }
  }
  const plans = new Map<string, Compiled | null>()
  return {
    async run(ctx, variables) {
      const key = conditions.map((name) => variables[name]).join()
      let plan = plans.get(key)
      if (plan === undefined) {
        plan = compiled(Object.fromEntries(conditions.map((name) => [name, variables[name]])))
        plans.set(key, plan)
      }
      if (!plan) throw new NotHot()
      return answerOf(plan, ctx, variables)
    },
  }
}

async function answerOf(plan: Compiled, ctx: GraphQLContext, variables: Variables): Promise<HotAnswer> {
  const answer: Answering = { ctx, variables, now: ctx.clock(), until: Number.POSITIVE_INFINITY, versions: [] }
  const data = await plan.write(answer)
  const [version = null, ...others] = answer.versions
  // several statements may have seen several versions
  const isOne = version !== null && others.every((other) => other === version)
  return {
    data,
    version: isOne ? (plan.showsHeard ? version : withoutHeard(version)) : null,
    holdsUntil: Number.isFinite(answer.until) ? new Date(answer.until) : null,
  }
}

function compile(scope: Scope, operation: OperationDefinitionNode): Compiled | null {
  try {
    const query = scope.schema.getQueryType()!
    const fields = scope.fields(query, [operation.selectionSet]).map((selected) => {
      const name = JSON.stringify(selected.key)
      if (!selected.field) return { name, read: async () => constant(query.name)() }
      const root = ROOTS[selected.name]
      if (!root) throw new NotHot()
      return { name, read: root(scope, selected) }
    })
    return {
      showsHeard: scope.showsHeard,
      async write(answer) {
        const members = await Promise.all(fields.map(async ({ name, read }) => `${name}:${await read(answer)}`))
        return `{${members.join(',')}}`
      },
    }
  } catch (error) {
    if (error instanceof NotHot || error instanceof GraphQLError) return null
    throw error
  }
}
