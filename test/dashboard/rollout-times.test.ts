/** The chart of rollouts, from the server's data of revisions. */
import { expect, test } from 'vitest'
import { toRollouts, typicalTimes } from '../../src/dashboard/pages/deployment/stages.ts'

type Ended = Parameters<typeof toRollouts>[0][number]
const ended = (number: number, total: number | null, more: Partial<Ended> = {}): Ended => ({
  id: `r${number}`,
  number,
  status: 'DEPLOYED',
  durations: { build: null, deploy: total === null ? null : total / 2, total },
  ...more,
})

test('its bars are the rollouts with known times, oldest first, and time without work counts as waiting', () => {
  const failed = ended(2, 10, { status: 'BUILD_FAILED', durations: { build: 7, deploy: null, total: 10 } })
  const rollouts = toRollouts([ended(4, null), ended(3, 4, { status: 'INTERRUPTED' }), failed, ended(1, 8)])
  expect(rollouts.map(({ number, outcome }) => [number, outcome])).toEqual([
    [1, 'live'],
    [2, 'failed'],
    [3, 'interrupted'],
  ])
  expect(rollouts[1]).toMatchObject({ waited: 3, build: 7, deploy: 0, total: 10 })
})

test('the usual duration comes from rollouts that went live, and is absent without any', () => {
  expect(
    typicalTimes(toRollouts([ended(1, 1), ended(2, 2), ended(3, 30), ended(4, 90, { status: 'DEPLOY_FAILED' })])),
  ).toEqual({ median: 2, longest: 30 })
  expect(typicalTimes(toRollouts([ended(1, 90, { status: 'DEPLOY_FAILED' })]))).toBeNull()
})
