/** The derived `status_message` and `reason` of a deployment, and why it is not live. */
import type { Prisma } from '../../generated/prisma/client.ts'
import { knownReason } from '../errors/reasons.ts'
import { CHANGE_FIELDS, lastChangeOf } from '../values/deployment-change.ts'
import { STATUS_WORDS } from '../values/lifecycle.ts'
import { type Condition, causeOf, firstLine, isServing, SERVING_FIELDS, whyNotServing } from './serving.ts'

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

/**
 * One line that says why the newest rollout is not live, for the overview. Unlike `status_message` (condition.ts), it is
 * also set while an older revision serves.
 */
export const WHY_NOT_LIVE_FIELDS = {
  ...SERVING_FIELDS,
  ...CHANGE_FIELDS,
  statusMessage: true,
  rollout: true,
  latestRevision: { select: { ...SERVING_FIELDS.latestRevision.select, rollout: true } },
  activeRevision: { select: { number: true, rollout: true } },
} as const satisfies Prisma.DeploymentSelect

type Fields = Prisma.DeploymentGetPayload<{ select: typeof WHY_NOT_LIVE_FIELDS }>

/** Null: the newest rollout serves. */
export function whyNotLive(deployment: Fields, now: Date): string | null {
  const { deletedAt, statusMessage, latestRevision: latest, activeRevision: active, rollout } = deployment
  if (deletedAt) return `It is being deleted${statusMessage ? `: ${firstLine(statusMessage)}` : '.'}`
  if (!active || !isServing(deployment, now)) return whyNotServing(deployment, now)?.message ?? null
  if (active.rollout === rollout) return null
  const serving = `revision ${active.number} serves`
  if (latest && latest.rollout === rollout)
    return causeOf(latest.statusMessage) ?? `Revision ${latest.number} ${STATUS_WORDS[latest.status]}; ${serving}.`
  const again = lastChangeOf(deployment)?.revision
  return `${again ? `Redeployed revision ${again.number}` : 'A redeployed older revision'} does not serve yet: ${serving}.`
}
