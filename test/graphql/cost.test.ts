/** The cost of an operation, computed before it runs. */
import { complexityFromQuery } from '@pothos/plugin-complexity'
import { isInterfaceType, isObjectType, parse } from 'graphql'
import { expect, test } from 'vitest'
import { costOf, SIZE_ARGUMENTS } from '../../src/api/graphql/builder/cost.ts'
import { schema } from '../../src/api/graphql/schema.ts'

const ask = (text: string, variables: Record<string, unknown> = {}, operationName?: string) =>
  costOf({ schema, document: parse(text), operationName, variables, ctx: {} })

const CHEAP = 'query Cheap { viewer { role } }'
const COSTLY = 'query Costly { ...F } fragment F on Query { deployments(first: 100) { nodes { id name status } } }'

test('the cost is that of the executed operation, at any place in the document', () => {
  const cost = ask(COSTLY)
  expect(cost).toBeGreaterThan(300)
  expect(ask(`${CHEAP} ${COSTLY}`, {}, 'Costly')).toBe(cost)
  expect(ask(`${COSTLY} ${CHEAP}`, {}, 'Cheap')).toBe(2)
})

test('invalid variables have no cost: of 100,000 invalid values only the first are checked', () => {
  let looked = 0
  const secrets = {
    *[Symbol.iterator]() {
      for (; looked < 100_000; looked++) yield 1
    },
  }
  const text = 'mutation ($input: CreateDeploymentInput!) { createDeployment(input: $input) { __typename } }'
  const input = { name: 'x', source: 'external_container', sourceConfig: {}, sourceRevisionConfig: {}, secrets }
  expect(ask(text, { input })).toBe(0)
  expect(looked).toBeLessThan(5)
})

test('the cost equals the one that Pothos computes, for new, repeated and absent sizes', () => {
  const text = `query ($first: Int = 7, $ids: [ID!]!, $filter: DeploymentFilter, $logs: Int) {
    deployments(first: $first, filter: $filter) { nodes { id latestRevision { logs(type: deploy, last: $logs) { edges { node { message } } } } } }
    nodes(ids: $ids) { id ... on Deployment { revisions(first: $first) { nodes { id } } } }
  }`
  const document = parse(text)
  const sizes = [undefined, null, 0, 1, 20, 100, 1000]
  const lists = [[], ['a'], ['a', 'b'], Array.from({ length: 40 }, (_, i) => String(i))]
  for (let round = 0; round < 2; round++)
    for (const first of sizes)
      for (const logs of sizes)
        for (const ids of lists) {
          const given = { first, logs, ids, filter: { name: 'x' } }
          const variables = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
          const { complexity } = complexityFromQuery(document, { schema, ctx: {}, variables })
          expect(costOf({ schema, document, variables, ctx: {} })).toBe(complexity)
        }
})

test('the cost of every field depends only on size arguments', () => {
  const read = new Set<string>()
  const args = new Proxy(
    {},
    {
      get(_args, name: string) {
        read.add(name)
        return name === 'ids' ? [] : undefined
      },
    },
  )
  let asked = 0
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) && !isInterfaceType(type)) continue
    for (const field of Object.values(type.getFields())) {
      const { complexity } = field.extensions as { complexity?: unknown }
      if (typeof complexity !== 'function') continue
      asked++
      complexity(args, {}, field)
    }
  }
  expect(asked).toBeGreaterThan(10)
  expect([...read].sort()).toEqual([...SIZE_ARGUMENTS].sort())
})
