// Concurrent reads by id share one read.
import { expect, test } from 'vitest'
import { Coalescer } from '../../src/platform/async/coalescing.ts'

/** Reads that are recorded, and answered when the test says so. */
function reading() {
  const begun: { ids: readonly string[]; end: (error?: Error) => void }[] = []
  const read = (ids: readonly string[]) =>
    new Promise<Map<string, string>>((resolve, reject) => {
      const found = new Map(ids.filter((id) => id !== 'nowhere').map((id) => [id, `the ${id}`]))
      begun.push({ ids, end: (error) => (error ? reject(error) : resolve(found)) })
    })
  return { begun, read }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('concurrent callers share a read and each get their own row; another connection has a separate read', async () => {
  const moment = new Coalescer<string>()
  const { begun, read } = reading()
  const answers = Promise.all([
    moment.load('one', 'a', read),
    moment.load('one', 'nowhere', read),
    moment.load('two', 'b', read),
    moment.load('one', 'a', read),
  ])
  await turn()
  expect(begun.map(({ ids }) => ids)).toEqual([['a', 'nowhere', 'a'], ['b']])
  for (const { end } of begun) end()
  expect(await answers).toEqual(['the a', null, 'the b', 'the a'])
})

test('callers during a read share the next one, which begins when it has ended', async () => {
  const moment = new Coalescer<string>()
  const { begun, read } = reading()
  const first = moment.load('one', 'a', read)
  await turn()
  const next = Promise.all([moment.load('one', 'b', read), moment.load('one', 'c', read)])
  begun[0]!.end()
  await first
  await turn()
  expect(begun.map(({ ids }) => ids)).toEqual([['a'], ['b', 'c']])
  begun[1]!.end()
  expect(await next).toEqual(['the b', 'the c'])
})

test('a slow or failed read affects only its own callers', async () => {
  const moment = new Coalescer<string>()
  const { begun, read } = reading()
  const slow = moment.load('one', 'a', read)
  await turn()
  const next = moment.load('one', 'b', read)
  await expect.poll(() => begun.length).toBe(2)
  begun[1]!.end()
  expect(await next).toBe('the b')
  begun[0]!.end(new Error('too slow'))
  await expect(slow).rejects.toThrow('too slow')
})
