/**
 * One line that says why the newest rollout is not live, for the overview. Unlike `status_message` (condition.ts), it is
 * also set while an older revision serves.
 */
import type { Prisma } from '../../generated/prisma/client.ts'
import { CHANGE_FIELDS, lastChangeOf } from '../values/deployment-change.ts'
import { STATUS_WORDS } from '../values/lifecycle.ts'
import { causeOf, firstLine, isServing, SERVING_FIELDS, whyNotServing } from './serving.ts'

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
