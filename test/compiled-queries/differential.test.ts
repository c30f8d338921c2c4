/**
 * Compiled queries return the same as the resolvers, byte by byte, for random documents and rows. To repeat with another
 * seed: HOT_SEED=7 HOT_ROUNDS=1000 npx vitest run test/compiled-queries
 */
import { execute, getOperationAST, getVariableValues, parse, validate } from 'graphql'
import { beforeAll, expect, test } from 'vitest'
import type { GraphQLContext } from '../../src/api/graphql/builder/context.ts'
import { NotCompilable } from '../../src/api/graphql/compiled-queries/compilation.ts'
import { compileQuery } from '../../src/api/graphql/compiled-queries/compile.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { useDomain } from '../support/domain.ts'
import { Random } from './random.ts'
import { randomDocument } from './random-documents.ts'
import { type SeededRows, seed } from './random-rows.ts'

const SEED = Number(process.env.HOT_SEED ?? 1)
const ROUNDS = Number(process.env.HOT_ROUNDS ?? 40)

const domain = useDomain()
let ctx: RequestContext
let seeded: SeededRows
const random = new Random(SEED)

beforeAll(async () => {
  const now = new Date()
  // a fixed clock, so that time-dependent fields are equal both ways
  ctx = { ...(await domain.tenant()), clock: () => now }
  // another tenant's rows, which must stay hidden
  await seed(await domain.tenant(), random, now)
  seeded = await seed(ctx, random, now)
})

/** Counts of answers, of failures on both ways, and of documents left to the resolvers. */
const seen = { answers: 0, failures: 0, fallbacks: 0 }

test(`random documents get the same answer compiled and by the resolvers (seed ${SEED})`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { source, variables } = randomDocument(schema, random, seeded)
    const document = parse(source)
    const label = `${source}\n${JSON.stringify(variables)}`
    expect(validate(schema, document), label).toEqual([])
    const operation = getOperationAST(document)!
    const compiled = compileQuery(schema, document, operation)
    const { coerced = {} } = getVariableValues(schema, operation.variableDefinitions ?? [], variables)
    // the cost limit applies before execution
    const contextValue = { ...ctx, cost: 1 } as GraphQLContext
    const expected = await execute({ schema, document, contextValue, variableValues: variables })
    const result = compiled
      ? await compiled.run(contextValue, coerced).catch((error: Error) => error)
      : new NotCompilable()
    if (result instanceof NotCompilable) {
      // the document needs more joins than a compiled query may have
      seen.fallbacks++
      continue
    }
    if (expected.errors) expect(result, label).toBeInstanceOf(Error)
    else expect(result instanceof Error ? result : result.data, label).toBe(JSON.stringify(expected.data))
    seen[expected.errors ? 'failures' : 'answers']++
  }
  expect(seen.answers).toBeGreaterThan(ROUNDS * 0.6)
})
