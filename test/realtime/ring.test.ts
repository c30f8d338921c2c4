/** The recent items of a log in memory: limited, without gaps, and with a known start. */
import { describe, expect, test } from 'vitest'
import { Ring } from '../../src/api/realtime/topic.ts'

const CAPACITY = 10
const ring = (begins = 0n) => new Ring<bigint>(CAPACITY, { positionOf: (item) => item }, begins)
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => BigInt(from + i))

describe('A ring', () => {
  test('has everything after its start, also when positions have gaps', () => {
    const recent = ring(5n)
    recent.push([6n, 8n])
    recent.push([20n])
    expect(recent.after(5n, 100)).toEqual([6n, 8n, 20n])
    expect(recent.after(7n, 100)).toEqual([8n, 20n])
    expect(recent.after(8n, 100)).toEqual([20n])
    expect(recent.after(20n, 100)).toEqual([])
    expect(recent.after(4n, 100)).toBeNull()
  })

  test('returns the oldest first, up to the limit', () => {
    const recent = ring()
    recent.push(range(1, 9))
    expect(recent.after(2n, 3)).toEqual([3n, 4n, 5n])
  })

  test('keeps at least its capacity, never twice as many, and knows its start', () => {
    const recent = ring()
    for (let newest = 1; newest <= 200; newest++) {
      recent.push([BigInt(newest)])
      const kept = recent.after(recent.begins, 1000)!
      expect(kept.at(-1)).toBe(BigInt(newest))
      expect(kept).toHaveLength(newest - Number(recent.begins))
      expect(kept.length).toBeLessThan(2 * CAPACITY)
      expect(kept.length).toBeGreaterThanOrEqual(Math.min(newest, CAPACITY))
    }
    expect(recent.after(recent.begins - 1n, 1)).toBeNull()
  })
})
