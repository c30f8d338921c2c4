/** The derived `status_message` and `reason` of a deployment. */
import type { Prisma } from '../../generated/prisma/client.ts'
import { knownReason } from '../values/reasons.ts'
import { type Condition, SERVING_FIELDS, whyNotServing } from './serving.ts'

const DELETING = 'Deleting: its agent ends, then its data are removed.'

export const CONDITION_FIELDS = {
  ...SERVING_FIELDS,
  statusMessage: true,
  reason: true,
  reasonSince: true,
  integration: { select: { name: true, removedAt: true, suspendedAt: true } },
} as const satisfies Prisma.DeploymentSelect

type ConditionFields = Prisma.DeploymentGetPayload<{ select: typeof CONDITION_FIELDS }>

/** The state of the teardown; else why nothing serves; else that the git integration is unavailable. Null: all is well. */
export function conditionOf(deployment: ConditionFields, now: Date): Condition | null {
  const { statusMessage: message, reason, reasonSince: since, deletedAt } = deployment
  if (message !== null) return { reason: knownReason(reason, 'NOT_READY'), message, since }
  if (deletedAt) return { reason: 'IN_PROGRESS', message: DELETING, since: deletedAt }
  return whyNotServing(deployment, now) ?? integrationCondition(deployment)
}

function integrationCondition({ integration }: ConditionFields): Condition | null {
  if (integration?.removedAt)
    return {
      reason: 'INTEGRATION_UNAVAILABLE',
      message: `Its git integration '${integration.name}' was removed, so nothing new can be built; the running revision stays. Install the app again, or create a new deployment with another integration.`,
      since: integration.removedAt,
    }
  if (integration?.suspendedAt)
    return {
      reason: 'INTEGRATION_UNAVAILABLE',
      message: `Its git integration '${integration.name}' is suspended at the git provider, so nothing new can be built. Resume the installation there.`,
      since: integration.suspendedAt,
    }
  return null
}
