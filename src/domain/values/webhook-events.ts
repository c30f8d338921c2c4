/** Types of the events that webhook endpoints get (docs/webhooks.md). The log's status changes are divided into several types. */
import { Prisma } from '../../generated/prisma/client.ts'
import { EVENT_TYPE_WORDS, EVENT_TYPES } from './event-types.ts'
import { FAILED, inSql } from './lifecycle.ts'

/** In place of `revision.status`, for the statuses that end a rollout. */
const ENDS_OF_ROLLOUTS = {
  'revision.deployed': 'A revision was deployed: it serves now.',
  'rollout.failed': 'A rollout failed. `to` names the status, `reason` and `message` the cause.',
  'rollout.skipped': 'A newer rollout replaced one that had not begun.',
  'rollout.interrupted': 'A caller interrupted a rollout.',
} as const

export const WEBHOOK_EVENT_TYPES: Record<string, string> = {
  ...ENDS_OF_ROLLOUTS,
  ...EVENT_TYPES,
  'revision.status': 'The status of a revision changed, and the change does not end its rollout.',
}

const TYPE_WORDS = [...new Set([...Object.keys(ENDS_OF_ROLLOUTS), ...EVENT_TYPE_WORDS])]

/** What an endpoint may subscribe to: types, `<resource>.*`, and `*` for all events. */
export const WEBHOOK_EVENT_WORDS = [
  '*',
  ...new Set(TYPE_WORDS.map((type) => `${type.split('.')[0]}.*`)),
  ...TYPE_WORDS,
] as [string, ...string[]]

/** The subscription of an endpoint that names none. */
export const DEFAULT_WEBHOOK_EVENTS = ['revision.deployed', 'rollout.failed', 'alert.*'] as const

/** The type of event `e`. */
export const webhookTypeSql = Prisma.raw(`
  CASE WHEN e.type <> 'revision.status' THEN e.type
       WHEN e.to_status = 'DEPLOYED' THEN 'revision.deployed'
       WHEN e.to_status = 'SKIPPED' THEN 'rollout.skipped'
       WHEN e.to_status = 'INTERRUPTED' THEN 'rollout.interrupted'
       WHEN e.to_status IN (${inSql(FAILED)}) THEN 'rollout.failed'
       ELSE e.type END`)
