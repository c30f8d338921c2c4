/**
 * Hot reads show what Prisma's do, byte by byte: random documents, and random calls of REST, on random data. Another run of it:
 * HOT_SEED=7 HOT_ROUNDS=1000 npx vitest run test/compiled-queries
 */
import { execute, getOperationAST, getVariableValues, parse, validate } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GraphQLContext } from '../../src/api/graphql/builder/context.ts'
import { NotCompilable } from '../../src/api/graphql/compiled-queries/compilation.ts'
import { compileQuery } from '../../src/api/graphql/compiled-queries/compile.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import { encode } from '../../src/api/rest/responses/answer.ts'
import { deployment as deploymentAnswer } from '../../src/api/rest/responses/deployment.ts'
import { revision as revisionAnswer } from '../../src/api/rest/responses/revision.ts'
import { whereFilter } from '../../src/domain/deployments/filter.ts'
import { orderOf } from '../../src/domain/deployments/order.ts'
import { getDeployment, listDeployments, listInput } from '../../src/domain/deployments/read.ts'
import { SHOWN } from '../../src/domain/deployments/view.ts'
import { getRevision, listRevisions } from '../../src/domain/revisions/read.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { DEPLOYMENT_STATUSES } from '../../src/domain/values/shapes.ts'
import { RevisionStatus } from '../../src/generated/prisma/enums.ts'
import { countStatements } from '../support/database.ts'
import { as, type TestDomain, testDomain } from '../support/domain.ts'
import { Random } from './random.ts'
import { randomDocument } from './random-documents.ts'
import { type SeededRows, seed } from './random-rows.ts'

const SEED = Number(process.env.HOT_SEED ?? 1)
const ROUNDS = Number(process.env.HOT_ROUNDS ?? 40)

let domain: TestDomain
let ctx: RequestContext
let seeded: SeededRows
const chance = new Random(SEED)

beforeAll(async () => {
  domain = await testDomain()
  const now = new Date()
  // a moment that stands still: what is derived from the clock has to be the same both ways
  ctx = { ...(await domain.tenant()), clock: () => now }
  // somebody else's, which must not be seen
  await seed(await domain.tenant(), chance, now)
  seeded = await seed(ctx, chance, now)
})
afterAll(() => domain.close())

/** How often something is answered, how often it fails, then both ways, and how often it is left to Pothos. */
const seen = { answers: 0, failures: 0, left: 0 }

test(`GraphQL: random documents of hot fields are answered as Pothos does (seed ${SEED})`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { source, variables } = randomDocument(schema, chance, seeded)
    const document = parse(source)
    const told = `${source}\n${JSON.stringify(variables)}`
    expect(validate(schema, document), told).toEqual([])
    const operation = getOperationAST(document)!
    const plan = compileQuery(schema, document, operation)
    const { coerced = {} } = getVariableValues(schema, operation.variableDefinitions ?? [], variables)
    // what is too expensive never gets as far as this
    const contextValue = { ...ctx, cost: 1 } as GraphQLContext
    const slow = await execute({ schema, document, contextValue, variableValues: variables })
    const hot = plan ? await plan.run(contextValue, coerced).catch((error: Error) => error) : new NotCompilable()
    if (hot instanceof NotCompilable) {
      // more is joined than one statement shall join
      seen.left++
      continue
    }
    if (slow.errors) expect(hot, told).toBeInstanceOf(Error)
    else expect(hot instanceof Error ? hot : hot.data, told).toBe(JSON.stringify(slow.data))
    seen[slow.errors ? 'failures' : 'answers']++
  }
  expect(seen.answers).toBeGreaterThan(ROUNDS * 0.6)
})

/** What REST shows, read by Prisma. */
const shown = (where: object, page: object = {}) =>
  ctx.db.deployment.findMany({
    where,
    select: SHOWN,
    orderBy: orderOf({ by: 'CREATED_AT', direction: 'desc' }),
    ...page,
  })

test(`REST: deployments and revisions are shown as Prisma reads them, each by one statement (seed ${SEED})`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const caller = as(ctx, chance.of(['viewer', 'admin']))
    caller.clock = ctx.clock
    const query = randomQuery()
    const { filter, limit, offset } = paged(query)
    const views = await one(() => listDeployments(caller, { query }))
    const expected = await shown(whereFilter(caller, filter), { take: limit, skip: offset })
    const json = (view: unknown) => JSON.stringify(encode(deploymentAnswer, view as never, caller))
    expect(views.resources.map(json), JSON.stringify(query)).toEqual(expected.map(json))
    expect(views.offset).toBe(offset + expected.length)

    const { id, revisions } = chance.of(seeded.deployments)
    const path = { deployment_id: id }
    expect(json(await one(() => getDeployment(caller, { path })))).toBe(json((await shown({ id }))[0]))
    if (revisions.length === 0) continue
    const shownRevision = (row: unknown) => JSON.stringify(encode(revisionAnswer, row as never, caller))
    const known = await ctx.db.revision.findMany({ where: { deploymentId: id }, orderBy: { number: 'desc' } })
    const from = chance.below(known.length)
    const page = await one(() => listRevisions(caller, { path, query: { limit: '3', offset: String(from) } }))
    expect(page.resources).toEqual(known.slice(from, from + 3))
    const revisionId = chance.of(revisions).id
    const single = await one(() => getRevision(caller, { path: { ...path, revision_id: revisionId } }))
    expect(shownRevision(single)).toBe(shownRevision(known.find((row) => row.id === revisionId)))
  }
})

/** Runs a read, which has to take one statement. */
async function one<T>(read: () => Promise<T>): Promise<T> {
  let found: { value: T } | undefined
  const statements = await countStatements(domain.database, async () => {
    found = { value: await read() }
  })
  expect(statements).toHaveLength(1)
  return found!.value
}

function randomQuery(): Record<string, string> {
  const all: Record<string, string> = {
    name_contains: chance.of(['APP', '%', '\\', '"']),
    status: chance.of(DEPLOYMENT_STATUSES),
    serving: chance.of(['true', 'false']),
    latest_revision_status: chance.some(Object.values(RevisionStatus)).join(','),
    latest_revision_waits: chance.of(['true', 'false']),
    listener_id: chance.of(seeded.listeners),
    remote_reconciled: chance.of(['true', 'false']),
    tag_value_ids: chance.some(seeded.tags).join(','),
    image_version: '1.0',
  }
  const names = Object.keys(all).filter(() => chance.is(0.12))
  return {
    ...Object.fromEntries(names.map((name) => [name, all[name]!])),
    limit: String(1 + chance.below(50)),
    offset: String(chance.below(10)),
  }
}

function paged(query: Record<string, string>) {
  const { limit, offset, ...filter } = listInput.parse({ query }).query
  return { filter, limit, offset }
}
