/** Concurrent equal reads: few statements, and no result from before the call. */
import { expect, test } from 'vitest'
import { Singleflight } from '../../src/platform/async/singleflight.ts'

test('A thousand concurrent calls are two reads, and each gets one that began after its call', async () => {
  const reads = new Singleflight()
  let begun = 0
  const finish: (() => void)[] = []
  const read = () => {
    const own = ++begun
    return new Promise<number>((resolve) => finish.push(() => resolve(own)))
  }
  const first = reads.read('a', read)
  const others = Array.from({ length: 1000 }, () => reads.read('a', read))
  const another = reads.read('b', read)
  finish.splice(0).forEach((done) => {
    done()
  })
  expect([await first, await another]).toEqual([1, 2])
  await expect.poll(() => finish.length).toBe(1)
  const late = reads.read('a', read)
  finish.shift()!()
  expect(new Set(await Promise.all(others))).toEqual(new Set([3]))
  await expect.poll(() => finish.length).toBe(1)
  finish.shift()!()
  expect(await late).toBe(4)
})

test('A failed read fails for all that shared it, and the next calls read again', async () => {
  const reads = new Singleflight()
  const failing = reads.read('a', () => Promise.reject(new Error('away')))
  const next = reads.read('a', async () => 'there')
  await expect(failing).rejects.toThrow('away')
  expect(await next).toBe('there')
})
