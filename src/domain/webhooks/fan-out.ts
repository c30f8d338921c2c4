/**
 * Queues events for webhook endpoints: reads each workspace's log from the endpoint's cursor, moves the cursor (README.md), and
 * writes the body: signed JSON, or a text for Slack (docs/webhooks.md#messages).
 */
import { Prisma } from '../../generated/prisma/client.ts'
import { eventCursor } from '../events/range.ts'
import type { StoredEvent } from '../events/read.ts'
import { toChangeOrSkip } from '../repositories/locks.ts'
import type { ReadCore } from '../transaction/context.ts'
import { webhookTypeSql } from '../values/event-types.ts'
import type { WebhookForm } from './endpoint.ts'

const MAX_ENDPOINTS = 100
const MAX_EVENTS = 500

/** Endpoints `w` whose workspace has events after the cursor. */
export const BEHIND = Prisma.sql`
  FROM webhook_endpoints w JOIN event_counters c ON c.workspace_id = w.workspace_id WHERE c.sequence > w.cursor`

/**
 * Queues the events of endpoints that no other server is queueing for, until there are none. Cursor and deliveries change in one
 * statement, so each event is queued once.
 */
export async function queueEvents(core: ReadCore, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const read = await core.db.$queryRaw<{ events: number }[]>`
      WITH behind AS MATERIALIZED (
        SELECT w.id, w.workspace_id, w.cursor, w.enabled, w.event_types ${BEHIND} ORDER BY w.id LIMIT ${MAX_ENDPOINTS} ${toChangeOrSkip('w')}
      ), found AS MATERIALIZED (
        SELECT b.id AS endpoint_id, b.workspace_id, b.enabled, b.event_types, e.* FROM behind b CROSS JOIN LATERAL (
          SELECT e.sequence, e.deployment_id, ${webhookTypeSql} AS type,
                 coalesce(e.deployment_id::text, e.subject_id, e.type) AS ordering_key
          FROM events e WHERE e.workspace_id = b.workspace_id AND e.sequence > b.cursor ORDER BY e.sequence LIMIT ${MAX_EVENTS}) AS e
      ), wanted AS MATERIALIZED (
        SELECT * FROM found f WHERE f.enabled
          AND f.event_types && ARRAY[f.type, split_part(f.type, '.', 1) || '.*', '*']
      ), deliveries AS (
        INSERT INTO endpoint_deliveries (endpoint_id, workspace_id, sequence, type, deployment_id, ordering_key)
        SELECT endpoint_id, workspace_id, sequence, type, deployment_id, ordering_key FROM wanted
        ON CONFLICT (endpoint_id, sequence) DO NOTHING
      ), queues AS (
        INSERT INTO endpoint_queues (endpoint_id, ordering_key)
        SELECT DISTINCT endpoint_id, ordering_key FROM wanted ORDER BY endpoint_id, ordering_key
        ON CONFLICT (endpoint_id, ordering_key) DO UPDATE SET version = endpoint_queues.version + 1
      )
      UPDATE webhook_endpoints w SET cursor = last.sequence
      FROM (SELECT endpoint_id, max(sequence) AS sequence, count(*)::int AS events FROM found GROUP BY endpoint_id) AS last
      WHERE w.id = last.endpoint_id RETURNING last.events`
    if (read.length < MAX_ENDPOINTS && read.every(({ events }) => events < MAX_EVENTS)) return
  }
}

interface MessageContent {
  type: string
  event: StoredEvent
  deploymentName: string | null
  revisionNumber: number | null
}

/** `publicUrl`: of the server, without a trailing slash. */
export function bodyOf(form: WebhookForm, content: MessageContent, publicUrl: string): string {
  return JSON.stringify(
    form === 'slack' ? { text: slackText(content, publicUrl) } : standardMessage(content, publicUrl),
  )
}

/** Standard Webhooks: type, timestamp and data. `data` is the event as REST shows it, and what people need to know of it. */
function standardMessage({ type, event, deploymentName, revisionNumber }: MessageContent, publicUrl: string) {
  return {
    type,
    timestamp: event.occurredAt.toISOString(),
    data: {
      workspace_id: event.workspaceId,
      sequence: String(event.sequence),
      cursor: eventCursor(event),
      deployment_id: event.deploymentId,
      deployment_name: deploymentName,
      revision_id: event.revisionId,
      revision_number: revisionNumber,
      subject_id: event.subjectId,
      from: event.fromStatus,
      to: event.toStatus,
      reason: event.reason,
      message: event.message,
      attempt: event.attempt,
      changed: event.changed,
      actor: event.actor,
      occurred_at: event.occurredAt.toISOString(),
      url: pageOf(event, publicUrl),
    },
  }
}

/** The page of the dashboard. */
function pageOf({ workspaceId, deploymentId, revisionId }: StoredEvent, publicUrl: string): string {
  const workspace = `${publicUrl}/w/${workspaceId}`
  if (deploymentId === null) return `${workspace}/activity`
  const deployment = `${workspace}/deployments/${deploymentId}`
  return revisionId === null ? deployment : `${deployment}/revisions/${revisionId}`
}

const WORDS: Record<string, string> = {
  'revision.deployed': 'was deployed',
  'rollout.failed': 'failed',
  'rollout.skipped': 'was skipped',
  'rollout.interrupted': 'was interrupted',
  'alert.fired': ':red_circle: alert',
  'alert.resolved': ':large_green_circle: alert resolved',
}

/** Slack's mrkdwn; limit of a section's text. */
const MAX_SLACK_LENGTH = 3000

function slackText({ type, event, deploymentName, revisionNumber }: MessageContent, publicUrl: string): string {
  const what =
    deploymentName === null
      ? ''
      : `*${escaped(deploymentName)}*${revisionNumber === null ? '' : ` #${revisionNumber}`} `
  const words = WORDS[type] ?? type.replaceAll(/[._]/g, ' ')
  const why = event.message ? `: ${escaped(event.message.split('\n', 1)[0]!)}` : ''
  return `${`${what}${words}${why}`.slice(0, MAX_SLACK_LENGTH)} <${pageOf(event, publicUrl)}|Open>`
}

/** Slack's control characters (docs.slack.dev, "Formatting message text"). */
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
