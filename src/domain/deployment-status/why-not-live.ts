/**
 * Why what was asked for last is not live, in one sentence for people: what the overview of deployments says. Derived, never stored.
 * `status_message` (condition.ts) says why nothing serves; this says also why it is the older revision that does.
 */
import type { Prisma } from '../../generated/prisma/client.ts'
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import { CHANGE_FIELDS, lastChangeOf } from '../model/deployment-change.ts'
import { isTerminal } from '../model/lifecycle.ts'
import { isServing, ofSilentListener, SERVING_FIELDS, whyNotServing } from './serving.ts'

export const WHY_NOT_LIVE_FIELDS = {
  ...SERVING_FIELDS,
  ...CHANGE_FIELDS,
  statusMessage: true,
  rollout: true,
  latestRevision: { select: { ...SERVING_FIELDS.latestRevision.select, rollout: true } },
  activeRevision: { select: { number: true, rollout: true } },
} as const satisfies Prisma.DeploymentSelect

type Fields = Prisma.DeploymentGetPayload<{ select: typeof WHY_NOT_LIVE_FIELDS }>

/** Goes on from "revision 7". */
const WORDS: Record<RevisionStatus, string> = {
  CREATING: 'is being prepared',
  QUEUED: 'is queued',
  AWAITING_BUILD: 'waits for its build',
  BUILDING: 'is being built',
  AWAITING_DEPLOY: 'waits to be deployed',
  DEPLOYING: 'is being deployed',
  DEPLOYED: 'was deployed',
  CREATE_FAILED: 'could not be prepared',
  BUILD_FAILED: 'could not be built',
  DEPLOY_FAILED: 'could not be deployed',
  SKIPPED: 'was skipped',
  INTERRUPTED: 'was interrupted',
  UNKNOWN: 'is in an unknown state',
}

/** Null: what was asked for last serves. */
export function whyNotLive(deployment: Fields, now: Date): string | null {
  const { deletedAt, statusMessage, latestRevision: latest, activeRevision: active, rollout } = deployment
  if (deletedAt) return `It is being deleted${statusMessage ? `: ${firstLine(statusMessage)}` : '.'}`
  if (!active && latest && !ofSilentListener(deployment, now)) {
    const nothing = isTerminal(latest.status) ? 'nothing serves' : 'nothing serves yet'
    return sentence(`revision ${latest.number} ${WORDS[latest.status]}`, latest.statusMessage, nothing)
  }
  if (!active || !isServing(deployment, now)) return firstLine(whyNotServing(deployment, now)?.message ?? null)
  if (active.rollout === rollout) return null
  const meanwhile = `revision ${active.number} serves`
  if (latest && latest.rollout === rollout)
    return sentence(`revision ${latest.number} ${WORDS[latest.status]}`, latest.statusMessage, meanwhile)
  const again = lastChangeOf(deployment)?.revision
  return `${again ? `Revision ${again.number}` : 'An older revision'}, asked for again, does not serve yet: ${meanwhile}.`
}

const firstLine = (text: string | null) => text?.split('\n', 1)[0] ?? null

/** The cause first, since a list may show no more than the beginning: the first line of a message, whose other lines are output. */
function sentence(what: string, message: string | null, end: string): string {
  const cause = firstLine(message)?.replace(/\.$/, '')
  return cause ? `${cause} (${what}; ${end}).` : `${what[0]!.toUpperCase()}${what.slice(1)}; ${end}.`
}
