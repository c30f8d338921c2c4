/** Reports contention, and slows repairs down. */
import { expect, test } from 'vitest'
import { RepairBackoff } from '../../src/dataplane/kubernetes/reconcile/repair-backoff.ts'

const KEY = 'Deployment/a'

test('many tries to repair one change count as one repair without contention', () => {
  const repairs = new RepairBackoff()
  for (let second = 0; second < 10; second++) expect(repairs.wait(KEY, second * 1000)).toBe(0)
  repairs.add(KEY, 10_000)
  expect(repairs.contention(10_000)).toBeNull()
})

test('repairs of one object slow down, the third reports contention, and a calm period resets them', () => {
  const repairs = new RepairBackoff()
  const waits: number[] = []
  for (let n = 0, now = 0; n < 4; n++) {
    waits.push(repairs.wait(KEY, now))
    expect(repairs.contention(now)).toEqual(
      n < 3 ? null : { reason: 'CHANGED_BY_OTHERS', message: expect.stringContaining(KEY) },
    )
    repairs.add(KEY, now)
    expect(repairs.wait('Deployment/b', now)).toBe(0)
  }
  expect(waits).toEqual([0, 1000, 2000, 4000])
  expect(repairs.wait(KEY, 120_001)).toBe(0)
  expect(repairs.contention(120_001)).toBeNull()
})
