/** Slows repeated repairs down, and counts them. */
import { expect, test } from 'vitest'
import { ObjectBackoff, REPAIR_MS } from '../../src/dataplane/kubernetes/reconcile/applier.ts'

const KEY = 'Deployment/a'

test('many tries to repair one change count as one repair without contention', () => {
  const repairs = new ObjectBackoff(...REPAIR_MS)
  for (let second = 0; second < 10; second++) expect(repairs.wait(KEY, second * 1000)).toBe(0)
  repairs.add(KEY, 10_000)
  expect(repairs.repeated(2, 10_000)).toEqual([])
})

test('repairs of one object slow down, the third counts as contention, and a calm period resets them', () => {
  const repairs = new ObjectBackoff(...REPAIR_MS)
  const waits: number[] = []
  for (let n = 0, now = 0; n < 4; n++) {
    waits.push(repairs.wait(KEY, now))
    expect(repairs.repeated(3, now)).toEqual(n < 3 ? [] : [KEY])
    repairs.add(KEY, now)
    expect(repairs.wait('Deployment/b', now)).toBe(0)
  }
  expect(waits).toEqual([0, 1000, 2000, 4000])
  expect(repairs.wait(KEY, 120_001)).toBe(0)
  expect(repairs.repeated(3, 120_001)).toEqual([])
})
