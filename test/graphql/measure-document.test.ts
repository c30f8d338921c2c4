/** The limits of a document before validation: every shape that is slow to validate is rejected fast. */
import { getIntrospectionQuery, parse } from 'graphql'
import { describe, expect, test } from 'vitest'
import { measureDocument } from '../../src/api/graphql/measure-document.ts'

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
