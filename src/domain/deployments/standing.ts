/** What `status_message` and `reason` of a deployment say: derived, for people and for machines alike. */
import type { Prisma } from '../../generated/prisma/client.ts'
import { knownReason } from '../reasons.ts'
import { SERVING_FIELDS, type Standing, whyNotServing } from './serving.ts'

/** What it is derived from. */
export const STANDING_FIELDS = {
  ...SERVING_FIELDS,
  statusMessage: true,
  reason: true,
  reasonSince: true,
  integration: { select: { name: true, removedAt: true, suspendedAt: true } },
} as const satisfies Prisma.DeploymentSelect

type StandingFields = Prisma.DeploymentGetPayload<{ select: typeof STANDING_FIELDS }>

/**
 * What its teardown waits for or why that failed; otherwise why nothing serves; otherwise that it can't be built from
 * its repository any more. Null: there is nothing to say.
 */
export function standingOf(deployment: StandingFields, now: Date): Standing | null {
  const { statusMessage: message, reason, reasonSince: since } = deployment
  if (message !== null) return { reason: knownReason(reason, 'NOT_READY'), message, since }
  return whyNotServing(deployment, now) ?? withoutSource(deployment)
}

function withoutSource({ integration }: StandingFields): Standing | null {
  if (integration?.removedAt)
    return {
      reason: 'INTEGRATION_UNAVAILABLE',
      message: `Its git integration '${integration.name}' was removed: what runs stays, but nothing new can be built. Install the app again, or create the deployment anew with another integration.`,
      since: integration.removedAt,
    }
  if (integration?.suspendedAt)
    return {
      reason: 'INTEGRATION_UNAVAILABLE',
      message: `Its git integration '${integration.name}' is suspended at the git provider: nothing new can be built until that is lifted.`,
      since: integration.suspendedAt,
    }
  return null
}
