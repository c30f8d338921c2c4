/** Documents: limits of their size, their cost, and which of them the fast path remembers. */
import { complexityFromQuery } from '@pothos/plugin-complexity'
import { getIntrospectionQuery, isInterfaceType, isObjectType, parse } from 'graphql'
import { describe, expect, test } from 'vitest'
import { costOf, SIZE_ARGUMENTS } from '../../src/api/graphql/builder/cost.ts'
import { DocumentCache } from '../../src/api/graphql/fast-path/document-cache.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import { measureDocument } from '../../src/api/graphql/use-document-limits.ts'

const times = (n: number, text: (i: number) => string) => Array.from({ length: n }, (_, i) => text(i)).join(' ')
const excessOf = (text: string) => measureDocument(parse(text)).excess

describe('the measurement rejects', () => {
  test.each([
    ['a field that is repeated', `{ viewer { ${times(101, () => 'role')} } }`, /^The field role is repeated/],
    ['a repeated field that has a selection', `{ ${times(101, () => 'viewer { role }')} }`, /^The field viewer is rep/],
    [
      'a field that is repeated under an alias',
      `{ viewer { ${times(101, () => 'a: role')} } }`,
      /^The field a is repeated/,
    ],
    [
      'a field that is repeated in inline fragments',
      `{ viewer { ${times(101, () => '... on Viewer { role }')} } }`,
      /^The field role is repeated/,
    ],
    [
      'a field that is repeated in fragments',
      `{ viewer { ${times(99, (i) => `...F${i}`)} } } ${times(99, (i) => `fragment F${i} on Viewer { role role }`)}`,
      /^The field role is repeated/,
    ],
    [
      'many repeated fields in many places',
      `{ ${times(50, (i) => `a${i}: viewer { ${times(30, () => 'role')} }`)} }`,
      /repeats too many fields/,
    ],
    [
      'repetitions that multiply with the depth',
      `{ ${times(30, () => `deployments { ${times(30, () => 'nodes { id }')} }`)} }`,
      /^The field nodes is repeated/,
    ],
    [
      'fragments that double at each level',
      `{ ...F0 } ${times(30, (i) => `fragment F${i} on T { a { ...F${i + 1} } b { ...F${i + 1} } }`)}`,
      /too large after its fragments/,
    ],
    ['many fragments', `{ a } ${times(101, (i) => `fragment F${i} on T { a }`)}`, /At most 100 fragments/],
    ['many operations', times(51, (i) => `query Q${i} { a }`), /At most 50 operations/],
    [
      'an unused fragment, which validation reads',
      `{ a } fragment F on Viewer { ${times(101, () => 'role')} }`,
      /^The field role is repeated/,
    ],
    [
      'fragments that include each other',
      '{ ...A } fragment A on T { a { ...B } } fragment B on T { a { ...A } }',
      /too large/,
    ],
  ])('%s', (_what, text, message) => {
    expect(excessOf(text)).toMatch(message)
  })
})

describe('the measurement accepts', () => {
  test.each([
    ['introspection', getIntrospectionQuery()],
    [
      'Relay’s fragments, which each repeat id and __typename',
      `{ deployments(first: 50) { nodes { ${times(60, (i) => `...F${i}`)} } } }
       ${times(60, (i) => `fragment F${i} on Deployment { __typename id f${i} }`)}`,
    ],
    [
      'a fragment that is used in many places',
      `{ ${times(30, (i) => `a${i}: d { ...F }`)} } fragment F on D { id name }`,
    ],
    ['an unknown fragment, which only validation rejects', '{ a { ...Unknown } }'],
  ])('%s', (_what, text) => {
    expect(excessOf(text)).toBeNull()
  })
})

const text = (n: number) => `{ deployments(first: 1) { nodes { id } } n${n}: __typename }`

/** Records executed documents, each requested again this many times. */
function record(learning: DocumentCache, from: number, to: number, more: number): void {
  for (let n = from; n < to; n++) {
    const document = parse(text(n))
    learning.documents.set(text(n), document)
    learning.recordExecuted(document, null)
    for (let i = 0; i < more; i++) learning.find(text(n), null)
  }
}

test('texts that are new each time evict no text that was requested again', () => {
  const learning = new DocumentCache(schema)
  record(learning, 0, 50, 1)
  record(learning, 1000, 4000, 0)
  for (let n = 0; n < 50; n++) expect(learning.find(text(n), null)).not.toBe(null)
  // new documents are still recorded
  record(learning, 4000, 4001, 0)
  expect(learning.find(text(4000), null)?.compiled).not.toBe(null)
  expect(learning.find(text(1000), null)).toBe(null)
})

test('of the texts requested again the least recently used are evicted', () => {
  const learning = new DocumentCache(schema)
  record(learning, 0, 1000, 1)
  expect(learning.find(text(999), null)).not.toBe(null)
  expect(learning.find(text(0), null)).toBe(null)
})

test('new Accept headers evict no content type that was requested again', () => {
  const learning = new DocumentCache(schema)
  const type = 'application/json; charset=utf-8'
  learning.recordContentType('*/*', type)
  expect(learning.contentTypeFor('*/*')).toBe(type)
  for (let n = 0; n < 1000; n++) learning.recordContentType(`application/json, */*;q=0.${n}`, type)
  expect(learning.contentTypeFor('*/*')).toBe(type)
  expect(learning.contentTypeFor('application/json, */*;q=0.0')).toBe(undefined)
})

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
