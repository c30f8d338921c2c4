/** A deployment whose listener fell silent after it took the first step. */
import { expect, test } from 'vitest'
import { healthOf, whyNotServing } from '../../src/domain/deployment-status/serving.ts'

const now = new Date()
const ago = (ms: number) => new Date(now.getTime() - ms)
const taken = (lastSeenAt: Date, status: 'CREATING' | 'DEPLOY_FAILED' = 'CREATING') => ({
  deletedAt: null,
  activeRevisionId: null,
  leaseExpiresAt: ago(60_000),
  health: null,
  resourceSpec: null,
  listener: { lastSeenAt, createdAt: ago(900_000) },
  latestRevision: {
    number: 1,
    status,
    statusSince: ago(500_000),
    reason: null,
    reasonSince: null,
    statusMessage: null,
  },
})

test('a revision that waits for a silent listener has the reason LISTENER_SILENT, not IN_PROGRESS', () => {
  const why = { reason: 'LISTENER_SILENT', message: expect.stringContaining('its listener is silent') }
  expect(whyNotServing(taken(ago(100_000)), now)).toEqual({ ...why, since: ago(100_000) })
  expect(healthOf(taken(ago(100_000)), now)).toMatchObject({ ready: 0, ...why })
  expect(whyNotServing(taken(ago(10_000)), now)).toMatchObject({ reason: 'IN_PROGRESS' })
  expect(whyNotServing(taken(ago(100_000), 'DEPLOY_FAILED'), now)).toMatchObject({ reason: 'NOT_READY' })
})
