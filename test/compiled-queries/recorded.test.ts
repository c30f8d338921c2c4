/**
 * Answers that were recorded when GraphQL and REST still read these rows with Prisma. The rows are fixed by the seed and the
 * clock. Add a document with RECORD=1: it appends new random ones.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { execute, getOperationAST, getVariableValues, parse } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GraphQLContext } from '../../src/api/graphql/builder/context.ts'
import { compileQuery } from '../../src/api/graphql/compiled-queries/compile.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import { deploymentList } from '../../src/api/rest/responses/deployment.ts'
import { encode } from '../../src/api/rest/responses/response-schema.ts'
import { revisionList } from '../../src/api/rest/responses/revision.ts'
import { listDeployments } from '../../src/domain/deployments/read.ts'
import { listRevisions } from '../../src/domain/revisions/read.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { type TestDomain, testDomain } from '../support/domain.ts'
import { Random } from './random.ts'
import { randomDocument } from './random-documents.ts'
import { type SeededRows, seed } from './random-rows.ts'

const SEED = 27
const NOW = new Date('2026-01-01T00:00:00.000Z')
const FILE = new URL('./recorded-answers.jsonl', import.meta.url)

interface Recorded {
  /** a GraphQL document; absent: `query` is a REST list's */
  source?: string
  variables?: Record<string, unknown>
  /** of a list of revisions */
  deployment?: string
  query?: Record<string, string>
  answer: string
}

let domain: TestDomain
let ctx: RequestContext
let seeded: SeededRows
const random = new Random(SEED)
beforeAll(async () => {
  domain = await testDomain()
  ctx = { ...(await domain.tenant()), clock: () => NOW }
  seeded = await seed(ctx, random, NOW)
})
afterAll(() => domain.close())

const shown = (json: unknown) => JSON.stringify(json).replaceAll(ctx.workspace.id, 'WORKSPACE')

async function answerOf({ source, variables, deployment, query }: Omit<Recorded, 'answer'>): Promise<string> {
  if (deployment !== undefined)
    return shown(
      encode(revisionList, await listRevisions(ctx, { path: { deployment_id: deployment }, query: query! }), ctx),
    )
  if (source === undefined) return shown(encode(deploymentList, await listDeployments(ctx, { query: query! }), ctx))
  const contextValue = { ...ctx, cost: 1 } as GraphQLContext
  const { data, errors } = await execute({
    schema,
    document: parse(source),
    contextValue,
    variableValues: variables!,
  })
  return shown(errors ? errors.map(({ message }) => message) : data)
}

async function record(): Promise<void> {
  const all: Recorded[] = []
  const add = async (one: Omit<Recorded, 'answer'>) => {
    const answer = await answerOf(one)
    if (answer.length < 5_000) all.push({ ...one, answer })
  }
  for (let i = 0; i < 150 && all.length < 70; i++) await add(randomDocument(schema, random, seeded))
  for (const query of [
    {},
    { name_contains: 'APP' },
    { status: 'UNKNOWN' },
    { status: 'READY' },
    { status: 'AWAITING_DATABASE' },
    { serving: 'true' },
    { serving: 'false' },
    { latest_revision_status: 'QUEUED,DEPLOYED' },
    { latest_revision_waits: 'true' },
    { remote_reconciled: 'true' },
    { tag_value_ids: seeded.tags[0]! },
    { listener_id: seeded.listeners[2]! },
  ])
    await add({ query: { limit: '2', offset: '1', ...(query as Record<string, string>) } })
  for (const { id } of seeded.deployments.slice(0, 5)) await add({ deployment: id, query: { limit: '2' } })
  await writeFile(FILE, `${all.map((one) => JSON.stringify(one)).join('\n')}\n`)
}

test('documents and REST lists get the recorded answers, by the resolvers and compiled', async () => {
  if (process.env.RECORD) await record()
  const lines = (await readFile(FILE, 'utf8')).trim().split('\n')
  for (const line of lines) {
    const { answer, ...call } = JSON.parse(line) as Recorded
    const label = JSON.stringify(call)
    const now = await answerOf(call)
    if (call.source === undefined) {
      // a new field is no difference
      expect(JSON.parse(now), label).toMatchObject(JSON.parse(answer))
      continue
    }
    expect(now, label).toBe(answer)
    if (answer.startsWith('[')) continue
    const document = parse(call.source)
    const operation = getOperationAST(document)!
    const { coerced = {} } = getVariableValues(schema, operation.variableDefinitions ?? [], call.variables!)
    const compiled = compileQuery(schema, document, operation)
    const { data } = (await compiled?.run({ ...ctx, cost: 1 } as GraphQLContext, coerced).catch(() => null)) ?? {
      data: null,
    }
    if (data !== null) expect(data.replaceAll(ctx.workspace.id, 'WORKSPACE'), label).toBe(answer)
  }
  expect(lines.length).toBeGreaterThan(60)
})
