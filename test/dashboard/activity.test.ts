/** The activity: which events are told as one act. */
import { expect, test } from 'vitest'
import type { EventData } from '../../src/dashboard/pages/activity/event.ts'
import { fold } from '../../src/dashboard/pages/activity/fold.ts'
import { activitySearch, SINCE } from '../../src/dashboard/pages/activity/search.ts'

const event = (type: string, more: object = {}): EventData =>
  ({
    type,
    from: null,
    to: null,
    actor: { kind: 'api_key', subject: 'ci' },
    deployment: null,
    revision: null,
    occurredAt: '2026-11-23T12:00:00.000Z',
    ...more,
  }) as EventData

test('a write and the revision that it made are one act', () => {
  const deployment = { id: 'd', name: 'agent' }
  const revision = { id: 'r', number: 7 }
  const acts = fold([event('revision.status', { deployment, revision }), event('deployment.updated', { deployment })])
  expect(acts).toMatchObject([{ event: { type: 'deployment.updated' }, made: { number: 7 } }])
})

test('signing in again and again is one line, until somebody else does or another day comes', () => {
  const before = { occurredAt: '2026-11-21T12:00:00.000Z' }
  const other = { actor: { kind: 'person', subject: 'ada' } }
  const acts = fold([
    event('session.created'),
    event('session.created'),
    event('session.created', other),
    event('session.created'),
    event('session.created', before),
    event('session.revoked', before),
    event('session.revoked', before),
  ])
  expect(acts.map(({ times }) => times)).toEqual([2, 1, 1, 1, 1, 1])
})

test('of what was changed nobody’s coming is a part, but who was sent away is', () => {
  const acts = fold([event('session.created'), event('api_key.created'), event('session.revoked')], false)
  expect(acts.map(({ event: { type } }) => type)).toEqual(['api_key.created', 'session.revoked'])
})

test('since yesterday is since its beginning, whatever the hour', () => {
  const now = new Date(2026, 10, 1, 23, 30)
  expect(SINCE.yesterday(now)).toEqual(new Date(2026, 9, 31))
  expect(SINCE.today(now)).toEqual(new Date(2026, 10, 1))
})

test('an address that was written by hand is read as far as it can be meant', () => {
  expect(activitySearch({ about: 'secret.revealed', since: 'year', who: '', all: 'yes' })).toEqual({
    about: 'secret.revealed',
  })
  expect(activitySearch({ about: 'everything', since: 'yesterday', all: true })).toEqual({
    since: 'yesterday',
    all: true,
  })
})
