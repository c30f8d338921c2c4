/** The line of a rollout: what is said of its end. */
import { expect, test } from 'vitest'
import type { TimelineRevision } from '../../src/dashboard/pages/deployment/documents.ts'
import { stagesOf } from '../../src/dashboard/pages/deployment/stages.ts'

const deployed = {
  ...{ status: 'DEPLOYED', source: 'external_container', isActive: true, steps: [] },
  ...{ rolloutAt: '2026-11-23T12:00:00.000Z', deployedAt: '2026-11-23T12:00:05.000Z', statusSince: null },
} as unknown as TimelineRevision

const lastOf = (serves: boolean | null) => stagesOf(deployed, serves).at(-1)

test('what is deployed serves, or doesn’t, or nobody reports on it, which is neither', () => {
  expect(lastOf(true)).toMatchObject({ name: 'Serving', state: 'done' })
  expect(lastOf(false)).toMatchObject({ name: 'Serving', state: 'failed' })
  expect(lastOf(null)).toMatchObject({ name: 'Serving', state: 'unknown' })
})
