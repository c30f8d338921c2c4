/**
 * Compiled queries and REST's reads return the same as Prisma, byte by byte, for random documents, calls and rows. To repeat
 * with another seed: HOT_SEED=7 HOT_ROUNDS=1000 npx vitest run test/compiled-queries
 */
import { execute, getOperationAST, getVariableValues, parse, validate } from 'graphql'
import { beforeAll, expect, test } from 'vitest'
import type { GraphQLContext } from '../../src/api/graphql/builder/context.ts'
import { NotCompilable } from '../../src/api/graphql/compiled-queries/compilation.ts'
import { compileQuery } from '../../src/api/graphql/compiled-queries/compile.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import { deployment as deploymentAnswer } from '../../src/api/rest/responses/deployment.ts'
import { encode } from '../../src/api/rest/responses/response-schema.ts'
import { revision as revisionAnswer } from '../../src/api/rest/responses/revision.ts'
import { whereFilter } from '../../src/domain/deployments/filter.ts'
import { orderOf } from '../../src/domain/deployments/order.ts'
import { getDeployment, listDeployments, listInput } from '../../src/domain/deployments/read.ts'
import { VIEW_FIELDS } from '../../src/domain/deployments/rest-view.ts'
import { getRevision, listRevisions } from '../../src/domain/revisions/read.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { DEPLOYMENT_STATUSES } from '../../src/domain/values/shapes.ts'
import { RevisionStatus } from '../../src/generated/prisma/enums.ts'
import { countStatements } from '../support/database.ts'
import { as, useDomain } from '../support/domain.ts'
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

/** Reads by Prisma what REST returns. */
const readByPrisma = (where: object, page: object = {}) =>
  ctx.db.deployment.findMany({
    where,
    select: VIEW_FIELDS,
    orderBy: orderOf({ by: 'CREATED_AT', direction: 'desc' }),
    ...page,
  })

test(`REST reads deployments and revisions like Prisma, with one statement each (seed ${SEED})`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const caller = as(ctx, random.pick(['viewer', 'admin']))
    caller.clock = ctx.clock
    const query = randomQuery()
    const { filter, limit, offset } = paged(query)
    const views = await readOnce(() => listDeployments(caller, { query }))
    const expected = await readByPrisma(whereFilter(caller, filter), { take: limit, skip: offset })
    const json = (view: unknown) => JSON.stringify(encode(deploymentAnswer, view as never, caller))
    expect(views.resources.map(json), JSON.stringify(query)).toEqual(expected.map(json))
    expect(views.offset).toBe(offset + expected.length)

    const { id, revisions } = random.pick(seeded.deployments)
    const path = { deployment_id: id }
    expect(json(await readOnce(() => getDeployment(caller, { path })))).toBe(json((await readByPrisma({ id }))[0]))
    if (revisions.length === 0) continue
    const shownRevision = (row: unknown) => JSON.stringify(encode(revisionAnswer, row as never, caller))
    const known = await ctx.db.revision.findMany({ where: { deploymentId: id }, orderBy: { number: 'desc' } })
    const from = random.integerBelow(known.length)
    const page = await readOnce(() => listRevisions(caller, { path, query: { limit: '3', offset: String(from) } }))
    expect(page.resources).toEqual(known.slice(from, from + 3))
    const revisionId = random.pick(revisions).id
    const single = await readOnce(() => getRevision(caller, { path: { ...path, revision_id: revisionId } }))
    expect(shownRevision(single)).toBe(shownRevision(known.find((row) => row.id === revisionId)))
  }
})

/** Runs a read and checks that it takes one statement. */
async function readOnce<T>(read: () => Promise<T>): Promise<T> {
  let found: { value: T } | undefined
  const statements = await countStatements(domain.database, async () => {
    found = { value: await read() }
  })
  expect(statements).toHaveLength(1)
  return found!.value
}

function randomQuery(): Record<string, string> {
  const all: Record<string, string> = {
    name_contains: random.pick(['APP', '%', '\\', '"']),
    status: random.pick(DEPLOYMENT_STATUSES),
    serving: random.pick(['true', 'false']),
    latest_revision_status: random.pickSome(Object.values(RevisionStatus)).join(','),
    latest_revision_waits: random.pick(['true', 'false']),
    listener_id: random.pick(seeded.listeners),
    remote_reconciled: random.pick(['true', 'false']),
    tag_value_ids: random.pickSome(seeded.tags).join(','),
    image_version: '1.0',
  }
  const names = Object.keys(all).filter(() => random.happens(0.12))
  return {
    ...Object.fromEntries(names.map((name) => [name, all[name]!])),
    limit: String(1 + random.integerBelow(50)),
    offset: String(random.integerBelow(10)),
  }
}

function paged(query: Record<string, string>) {
  const { limit, offset, ...filter } = listInput.parse({ query }).query
  return { filter, limit, offset }
}
