/** The verb of an event: "ci *changed the resources of* support-agent". Unknown types are shown unchanged. */

import type { EventData } from './event.ts'
import { DECIDING_ACTOR_KINDS } from './search.ts'

/** Display names of updated fields. */
const FIELDS: Record<string, string> = {
  resourceSpec: 'resources',
  buildOnPush: 'build on push',
  customUrl: 'address',
  installCommand: 'install command',
  buildCommand: 'build command',
  secretReferences: 'secret references',
  secrets: 'secrets',
  repoRef: 'branch',
  graphConfigPath: 'configuration path',
  imageUri: 'image',
  sourceTarballPath: 'source',
  k8sNamespaces: 'namespaces',
  clientSecret: 'client secret',
  suspendedAt: 'suspension',
}

const SENTENCES: Record<string, string> = {
  'deployment.created': 'created',
  'deployment.tagged': 'changed the tags of',
  'deployment.restarted': 'restarted',
  'agent.restarted': 'restarted the agent of',
  'queue.stalled': 'found a stalled queue in',
  'deployment.provisioned': 'prepared',
  'deployment.deleted': 'asked for the deletion of',
  'deployment.torn_down': 'tore down',
  'secret.revealed': 'looked at a secret of',
  'tag.created': 'made the tag',
  'listener.created': 'registered the listener',
  'listener.updated': 'changed the listener',
  'listener.deleted': 'deleted the listener',
  'listener.silent': 'has not heard from the listener',
  'listener.heard': 'heard again from the listener',
  'api_key.created': 'made the API key',
  'api_key.updated': 'changed the API key',
  'api_key.revoked': 'revoked the API key',
  'session.created': 'signed in',
  'session.revoked': 'ended a session',
  'workspace.created': 'made this workspace',
  'tracing_project.created': 'made the tracing project',
  'tracing_project.deleted': 'deleted a tracing project',
  'integration.created': 'connected the git integration',
  'integration.updated': 'changed the git integration',
  'integration.suspended': 'suspended the git integration',
  'integration.unsuspended': 'lifted the suspension of the git integration',
  'integration.removed': 'removed the git integration',
  'oauth_provider.created': 'made the OAuth provider',
  'oauth_provider.updated': 'changed the OAuth provider',
  'oauth_provider.deleted': 'deleted an OAuth provider',
  'oauth_token.created': 'gave consent to an account',
  'oauth_token.updated': 'changed a token',
  'oauth_token.expired': 'saw a token expire',
  'oauth_token.deleted': 'deleted a token',
  'connection.created': 'connected an agent to a token',
  'connection.deleted': 'disconnected an agent from a token',
  'alert.fired': 'raised an alert about',
  'alert.resolved': 'ended an alert about',
  'alert_rule.created': 'made the alert rule',
  'alert_rule.updated': 'changed the alert rule',
  'alert_rule.deleted': 'deleted an alert rule',
  'webhook_endpoint.created': 'made the webhook endpoint',
  'webhook_endpoint.updated': 'changed the webhook endpoint',
  'webhook_endpoint.deleted': 'deleted a webhook endpoint',
  'webhook_endpoint.replayed': 'sent deliveries again to the webhook endpoint',
}

/** Event types that the filter offers. */
export const EVENT_TYPES = ['deployment.updated', ...Object.keys(SENTENCES)]

const joinWords = (words: string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`

/** `changed`: the updated fields. */
export function sentenceOf(type: string, changed: readonly string[]): string {
  if (type === 'deployment.updated') {
    const fields = changed.map((field) => FIELDS[field] ?? field)
    return fields.length > 0 ? `changed the ${joinWords(fields)} of` : 'made a new revision of'
  }
  const known = SENTENCES[type]
  if (known) return known
  const [resource = type, verb = ''] = type.split('.')
  return `${verb.replaceAll('_', ' ')} ${resource.replaceAll('_', ' ')}`
}

/** The verb of a status change that an actor decided; null: the system made it, and the status says enough. */
export function revisionSentence({ actor, from, to }: Pick<EventData, 'actor' | 'from' | 'to'>): string | null {
  if (!(DECIDING_ACTOR_KINDS as readonly string[]).includes(actor.kind)) return null
  if (from === null) return actor.kind === 'git_provider' ? 'pushed a commit: made' : 'made'
  if (to === 'INTERRUPTED') return 'interrupted'
  return to === 'QUEUED' || to === 'CREATING' ? 'rolled out again' : null
}
