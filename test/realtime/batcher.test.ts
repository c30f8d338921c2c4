/** Concurrent calls share batches and reads (src/platform/async/batcher.ts). */
import { expect, test } from 'vitest'
import { createBatcher, createSingleflight } from '../../src/platform/async/batcher.ts'

/** Reads that are recorded, and answered when the test says so. */
function reading() {
  const begun: { ids: readonly string[]; end: (error?: Error) => void }[] = []
  const read = (ids: readonly string[]) =>
    new Promise<string[]>((resolve, reject) => {
      begun.push({ ids, end: (error) => (error ? reject(error) : resolve(ids.map((id) => `the ${id}`))) })
    })
  return { begun, read, ids: () => begun.map(({ ids }) => ids) }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('the first call runs immediately, later ones share the next batches, each with its own answer', async () => {
  const batch = createBatcher({ maxBatch: 2 })
  const { begun, read, ids } = reading()
  const waits: string[] = []
  const call = (key: string, id: string) => batch(key, id, read, () => waits.push(id))
  const answers = Promise.all([
    call('one', 'a'),
    call('one', 'b'),
    call('two', 'c'),
    call('one', 'd'),
    call('one', 'e'),
  ])
  expect(ids()).toEqual([['a'], ['c']])
  expect(waits).toEqual(['b', 'd'])
  for (let i = 0; i < 4; i++) {
    await expect.poll(() => begun.length).toBeGreaterThan(i)
    begun[i]!.end()
  }
  expect(await answers).toEqual(['the a', 'the b', 'the c', 'the d', 'the e'])
  expect(ids()).toEqual([['a'], ['c'], ['b', 'd'], ['e']])
})

test('calls of one turn share a batch; calls during a batch share the next one, which begins when it has ended', async () => {
  const batch = createBatcher({ gathersTurn: true })
  const { begun, read, ids } = reading()
  const first = Promise.all(['a', 'b'].map((id) => batch('one', id, read)))
  await turn()
  const next = Promise.all(['c', 'd'].map((id) => batch('one', id, read)))
  await turn()
  expect(ids()).toEqual([['a', 'b']])
  begun[0]!.end()
  await first
  await turn()
  expect(ids()).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
  begun[1]!.end()
  expect(await next).toEqual(['the c', 'the d'])
})

test('a slow or failed batch affects only its own callers', async () => {
  const batch = createBatcher({ gathersTurn: true, maxWaitMs: 5 })
  const { begun, read } = reading()
  const slow = batch('one', 'a', read)
  await turn()
  const next = batch('one', 'b', read)
  await expect.poll(() => begun.length).toBe(2)
  begun[1]!.end()
  expect(await next).toBe('the b')
  begun[0]!.end(new Error('too slow'))
  await expect(slow).rejects.toThrow('too slow')
})

test('a thousand concurrent reads are two, and each caller gets one that began after its call', async () => {
  const shared = createSingleflight()
  const { begun, read, ids } = reading()
  let asked = 0
  const call = (key: string) => shared(key, () => read([`${++asked}`]))
  const [first, others, another] = [call('a'), Array.from({ length: 1000 }, () => call('a')), call('b')]
  begun[0]!.end()
  begun[1]!.end()
  expect([await first, await another]).toEqual([['the 1'], ['the 2']])
  await expect.poll(() => begun.length).toBe(3)
  const late = call('a')
  begun[2]!.end()
  expect(new Set((await Promise.all(others)).flat())).toEqual(new Set(['the 3']))
  await expect.poll(() => begun.length).toBe(4)
  begun[3]!.end()
  expect(await late).toEqual(['the 4'])
  expect(ids()).toHaveLength(4)
})

test('a failed read fails for all that shared it, and the next calls read again', async () => {
  const shared = createSingleflight()
  const failing = shared('a', () => Promise.reject(new Error('away')))
  const next = shared('a', async () => 'there')
  await expect(failing).rejects.toThrow('away')
  expect(await next).toBe('there')
})
