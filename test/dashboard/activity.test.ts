/** The activity page: the events that are shown as one act. */
import { expect, test } from 'vitest'
import { type EventData, groupEvents } from '../../src/dashboard/pages/activity/event.ts'
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

test('a write and the revision that it created are one act', () => {
  const deployment = { id: 'd', name: 'agent' }
  const revision = { id: 'r', number: 7 }
  const acts = groupEvents([
    event('revision.status', { deployment, revision }),
    event('deployment.updated', { deployment }),
  ])
  expect(acts).toMatchObject([{ event: { type: 'deployment.updated' }, made: { number: 7 } }])
})

test('repeated sign-ins are one line, until another person signs in or a new day begins', () => {
  const before = { occurredAt: '2026-11-21T12:00:00.000Z' }
  const other = { actor: { kind: 'person', subject: 'ada' } }
  const acts = groupEvents([
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

test('the list of changes hides sign-ins, but shows revoked sessions', () => {
  const acts = groupEvents([event('session.created'), event('api_key.created'), event('session.revoked')], false)
  expect(acts.map(({ event: { type } }) => type)).toEqual(['api_key.created', 'session.revoked'])
})

test('since yesterday begins at midnight, at any hour', () => {
  const now = new Date(2026, 10, 1, 23, 30)
  expect(SINCE.yesterday(now)).toEqual(new Date(2026, 9, 31))
  expect(SINCE.today(now)).toEqual(new Date(2026, 10, 1))
})

test('a hand-written address is read as far as possible', () => {
  expect(activitySearch({ about: 'secret.revealed', since: 'year', who: '', all: 'yes' })).toEqual({
    about: 'secret.revealed',
  })
  expect(activitySearch({ about: 'everything', since: 'yesterday', all: true })).toEqual({
    since: 'yesterday',
    all: true,
  })
})
