/** The body of a webhook: signed JSON, or a text for Slack (docs/webhooks.md#messages). */
import { eventCursor } from '../events/cursor.ts'
import type { StoredEvent } from '../events/read.ts'
import type { WebhookForm } from './endpoint.ts'

export interface MessageContent {
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
