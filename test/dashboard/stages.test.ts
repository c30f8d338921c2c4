/** The stages of a rollout: the text at its end. */
import { expect, test } from 'vitest'
import { stateOf } from '../../src/dashboard/components/labels.ts'
import type { TimelineRevision } from '../../src/dashboard/pages/deployment/documents.ts'
import { stagesOf } from '../../src/dashboard/pages/deployment/stages.ts'

const deployed = {
  ...{ status: 'DEPLOYED', source: 'external_container', isActive: true, steps: [] },
  ...{ rolloutAt: '2026-11-23T12:00:00.000Z', deployedAt: '2026-11-23T12:00:05.000Z', statusSince: null },
} as unknown as TimelineRevision

const lastOf = (serves: boolean | null) => stagesOf(deployed, serves).at(-1)

test('a deployed revision serves, or doesn’t, or has no current report, which is neither', () => {
  expect(lastOf(true)).toMatchObject({ name: 'Serving', state: 'done' })
  expect(lastOf(false)).toMatchObject({ name: 'Serving', state: 'failed' })
  expect(lastOf(null)).toMatchObject({ name: 'Serving', state: 'unknown' })
})

test('a claimed build waits while the machine has no build slot, as its pill says', () => {
  const step = { kind: 'BUILD', createdAt: '2026-11-23T12:00:00.000Z', startedAt: '2026-11-23T12:00:01.000Z' }
  const build = (reason: 'WAITING_FOR_TURN' | null) => {
    const steps = [{ ...step, endedAt: null, outcome: null, tries: 1, isCurrent: true }]
    const revision = { ...deployed, status: 'BUILDING', reason, isActive: false, steps } as TimelineRevision
    return [stateOf(revision).label, stagesOf(revision, null).find(({ name }) => name === 'Build')!.state]
  }
  expect(build(null)).toEqual(['Building', 'busy'])
  expect(build('WAITING_FOR_TURN')).toEqual(['Waiting', 'waiting'])
})
