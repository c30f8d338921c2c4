/** Which documents the fast path remembers (src/api/graphql/fast-path/document-cache.ts). */
import { parse } from 'graphql'
import { expect, test } from 'vitest'
import { DocumentCache } from '../../src/api/graphql/fast-path/document-cache.ts'
import { schema } from '../../src/api/graphql/schema.ts'

const text = (n: number) => `{ deployments(first: 1) { nodes { id } } n${n}: __typename }`

/** Records executed documents, each requested again this many times. */
function ask(learning: DocumentCache, from: number, to: number, more: number): void {
  for (let n = from; n < to; n++) {
    learning.recordExecuted(text(n), parse(text(n)), null)
    for (let i = 0; i < more; i++) learning.find(text(n), null)
  }
}

test('texts that are new each time evict no text that was requested again', () => {
  const learning = new DocumentCache(schema)
  ask(learning, 0, 50, 1)
  ask(learning, 1000, 4000, 0)
  for (let n = 0; n < 50; n++) expect(learning.find(text(n), null)).not.toBe(null)
  // new documents are still recorded
  ask(learning, 4000, 4001, 0)
  expect(learning.find(text(4000), null)?.compiled).not.toBe(null)
  expect(learning.find(text(1000), null)).toBe(null)
})

test('of the texts requested again the least recently used are evicted', () => {
  const learning = new DocumentCache(schema)
  ask(learning, 0, 1000, 1)
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
