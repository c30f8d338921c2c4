/**
 * Every type of event there is (docs/api-rules.md#events-and-streams): `revision.status` for a transition, otherwise
 * `<resource>.<verb in the past>`. Types are only ever added.
 */

/** Each with when it is written, for people. */
export const EVENT_TYPES = {
  'revision.status': 'A revision has another status; the first one has no `from`.',
  'deployment.created': 'A deployment was made.',
  'deployment.updated': 'A deployment was changed; `changed` names the fields. Without any, there is a new revision.',
  'deployment.tagged': 'A deployment has other tags.',
  'deployment.provisioned': 'What a deployment needs at its runtime is there.',
  'deployment.deleted': 'Somebody asked for the deletion of a deployment.',
  'deployment.torn_down': 'Nothing is left of a deployment at its runtime: the last event of it.',
  'secret.revealed': 'Somebody has looked at the value of a secret of a deployment; its name is the subject.',
  'tag.created': 'A tag was made.',
  'listener.created': 'A listener was registered.',
  'listener.updated': 'A listener was changed; `changed` names the fields.',
  'listener.deleted': 'A listener was deleted.',
  'listener.silent': 'A listener was not heard of for 90 seconds: what it has reported does not count any more.',
  'listener.heard': 'A listener that was silent has called again.',
  'api_key.created': 'An API key was made.',
  'api_key.updated': 'An API key has another owner; `changed` names the fields.',
  'api_key.revoked': 'An API key was revoked.',
  'session.created': 'Somebody has signed in: there is a session of theirs.',
  'session.revoked': 'A session was ended by somebody, before its time.',
  'workspace.created': 'The workspace was made: the first event of its log.',
  'tracing_project.created': 'A tracing project was made.',
  'tracing_project.deleted': 'A tracing project was deleted.',
  'integration.created': 'A git integration was made, or is there again.',
  'integration.updated': 'A git integration was changed; `changed` names the fields.',
  'integration.suspended': 'A git integration was suspended at the git provider.',
  'integration.unsuspended': 'A git integration is no longer suspended.',
  'integration.removed': 'A git integration was removed, here or at the git provider.',
  'oauth_provider.created': 'An OAuth provider was made.',
  'oauth_provider.updated': 'An OAuth provider was changed; `changed` names the fields.',
  'oauth_provider.deleted': 'An OAuth provider was deleted.',
  'oauth_token.created': 'Somebody has given their consent: there is a token.',
  'oauth_token.updated': 'A token was renewed by its owner, or changed; `changed` names the fields of a change.',
  'oauth_token.expired': 'A token has ended: only its owner can renew it.',
  'oauth_token.deleted': 'A token was deleted.',
  'connection.created': 'An agent was connected to a token.',
  'connection.deleted': 'An agent can’t get a token any more.',
} as const

export type EventType = keyof typeof EVENT_TYPES
export const EVENT_TYPE_WORDS = Object.keys(EVENT_TYPES) as [EventType, ...EventType[]]

/** What a filter takes beside them: all types of a resource. */
export const EVENT_FAMILIES = [...new Set(EVENT_TYPE_WORDS.map((type) => `${type.split('.')[0]}.*`))]

/** The types that a filter's word stands for; null: it is no type, and no family of types. Pure. */
export function typesOf(word: string): readonly EventType[] | null {
  if (Object.hasOwn(EVENT_TYPES, word)) return [word as EventType]
  if (!EVENT_FAMILIES.includes(word)) return null
  return EVENT_TYPE_WORDS.filter((type) => type.startsWith(word.slice(0, -1)))
}
