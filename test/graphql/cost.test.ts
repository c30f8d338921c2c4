/** What an operation is said to cost, before it runs. */
import { parse } from 'graphql'
import { expect, test } from 'vitest'
import { costOf } from '../../src/api/graphql/builder/cost.ts'
import { schema } from '../../src/api/graphql/schema.ts'

const ask = (text: string, variables: Record<string, unknown> = {}, operationName?: string) =>
  costOf({ schema, document: parse(text), operationName, variables, ctx: {} })

const CHEAP = 'query Cheap { viewer { role } }'
const COSTLY = 'query Costly { ...F } fragment F on Query { deployments(first: 100) { nodes { id name status } } }'

test('is the cost of the one that is to run, wherever it stands in the document', () => {
  const cost = ask(COSTLY)
  expect(cost).toBeGreaterThan(300)
  expect(ask(`${CHEAP} ${COSTLY}`, {}, 'Costly')).toBe(cost)
  expect(ask(`${COSTLY} ${CHEAP}`, {}, 'Cheap')).toBe(2)
})

test('is not asked of variables that are wrong: of 100,000 wrong values only the first are looked at', () => {
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
