/** Types of events (docs/api-rules.md#events-and-streams), and those that webhooks deliver. Types are added, never removed. */
import { Prisma } from '../../generated/prisma/client.ts'
import { FAILED, inSql } from './lifecycle.ts'

export const EVENT_TYPES = {
  'revision.status': 'The status of a revision changed. The first status has no `from`.',
  'deployment.created': 'A deployment was created.',
  'deployment.updated':
    'A deployment was changed. `changed` names the fields; if it is empty, a new revision was created.',
  'deployment.tagged': 'The tags of a deployment changed.',
  'deployment.restarted': 'A restart of the running revision of a deployment was requested.',
  'agent.restarted':
    'An agent ended by itself and was started again. `reason` and `message` say why. At most one event a minute for each reason; `count` is the number of restarts since the last one.',
  'queue.stalled': 'Runs wait in the queue of a deployment, and none was completed for QUEUE_STALL_SECONDS.',
  'deployment.provisioned': 'The resources that a deployment needs in its runtime exist.',
  'deployment.deleted': 'The deletion of a deployment was requested.',
  'deployment.torn_down': 'The resources of a deployment in its runtime were removed. This is its last event.',
  'secret.revealed': 'A caller read the value of a secret. The subject is the name of the secret.',
  'tag.created': 'A tag was created.',
  'listener.created': 'A listener was registered.',
  'listener.updated': 'A listener was changed. `changed` names the fields.',
  'listener.deleted': 'A listener was deleted.',
  'listener.silent': 'A listener has not called for 90 seconds. Its last reports no longer count.',
  'listener.heard': 'A silent listener called again.',
  'api_key.created': 'An API key was created.',
  'api_key.updated': 'The owner of an API key changed. `changed` names the fields.',
  'api_key.revoked': 'An API key was revoked.',
  'session.created': 'A person signed in, which created a session.',
  'session.revoked': 'A session was revoked before it expired.',
  'workspace.created': 'The workspace was created. This is the first event of its log.',
  'tracing_project.created': 'A tracing project was created.',
  'tracing_project.deleted': 'A tracing project was deleted.',
  'integration.created': 'A git integration was created or restored.',
  'integration.updated': 'A git integration was changed. `changed` names the fields.',
  'integration.suspended': 'A git integration was suspended at the git provider.',
  'integration.unsuspended': 'A git integration is no longer suspended.',
  'integration.removed': 'A git integration was removed here or at the git provider.',
  'oauth_provider.created': 'An OAuth provider was created.',
  'oauth_provider.updated': 'An OAuth provider was changed. `changed` names the fields.',
  'oauth_provider.deleted': 'An OAuth provider was deleted.',
  'oauth_token.created': 'A person gave consent, which created a token.',
  'oauth_token.updated': 'The owner renewed or changed a token. `changed` names the changed fields.',
  'oauth_token.expired': 'A token expired. Only its owner can renew it.',
  'oauth_token.deleted': 'A token was deleted.',
  'connection.created': 'An agent was connected to a token.',
  'connection.deleted': 'An agent was disconnected from a token.',
  'alert.fired': 'The condition of an alert rule holds for a deployment. The subject is the rule.',
  'alert.resolved':
    'An alert ended, because its condition does not hold any more, or its rule was disabled or deleted.',
  'alert_rule.created': 'An alert rule was created.',
  'alert_rule.updated': 'An alert rule was changed. `changed` names the fields.',
  'alert_rule.deleted': 'An alert rule was deleted.',
  'webhook_endpoint.created': 'A webhook endpoint was created.',
  'webhook_endpoint.updated': 'A webhook endpoint was changed. `changed` names the fields.',
  'webhook_endpoint.deleted': 'A webhook endpoint was deleted.',
  'webhook_endpoint.replayed': 'Deliveries of a webhook endpoint were sent again.',
} as const

export type EventType = keyof typeof EVENT_TYPES
export const EVENT_TYPE_WORDS = Object.keys(EVENT_TYPES) as [EventType, ...EventType[]]

/** Words that a filter accepts in addition to types: `<resource>.*` means all types of a resource. */
export const EVENT_FAMILIES = [...new Set(EVENT_TYPE_WORDS.map((type) => `${type.split('.')[0]}.*`))]

/** Returns the types that a filter word selects. Null: the word is neither a type nor a family. */
export function typesOf(word: string): readonly EventType[] | null {
  if (Object.hasOwn(EVENT_TYPES, word)) return [word as EventType]
  if (!EVENT_FAMILIES.includes(word)) return null
  return EVENT_TYPE_WORDS.filter((type) => type.startsWith(word.slice(0, -1)))
}

export const ACTOR_KINDS = {
  api_key: 'A caller with an API key. `name` is the name of the key at that time.',
  person: 'A person with a JWT. `id` and `name` are its `sub`.',
  listener: 'A listener in the compute infrastructure of a customer. `name` is its `compute_id`.',
  worker: 'The built-in worker of the server.',
  git_provider: 'The git provider, through its webhook: a push, or a changed installation.',
  command_line: 'A person who runs commands on the machine of the server.',
  system: 'The server itself, because of a rule or the time.',
} as const
export type ActorKind = keyof typeof ACTOR_KINDS
export const ACTOR_KIND_WORDS = Object.keys(ACTOR_KINDS) as [ActorKind, ...ActorKind[]]

/** Kinds of actors that make decisions; the others carry them out. The log has an index of the decisions. */
export const DECIDING_KINDS = ['api_key', 'person', 'command_line', 'git_provider'] as const satisfies ActorKind[]

/** False for a kind that only a newer server knows. */
export const isActorKind = (kind: string): kind is ActorKind => Object.hasOwn(ACTOR_KINDS, kind)

export interface EventActor {
  kind: ActorKind
  /** id of the key or the listener; a person's `sub`; null if the kind identifies the actor */
  id: string | null
  /** null: unknown, or the kind identifies the actor */
  name: string | null
}

/** Without `name` the log looks up a listener's name; without `kind`, whether the subject is a key or a person. */
export type ActorRef = { kind: ActorKind; id?: string | null; name?: string | null } | { kind?: undefined; id: string }

export const SYSTEM: ActorRef = { kind: 'system' }
export const COMMAND_LINE: ActorRef = { kind: 'command_line' }
/** The subject of the command line. No person can have it. */
export const COMMAND_LINE_SUBJECT = 'command_line'
export const GIT_PROVIDER: ActorRef = { kind: 'git_provider' }

export const holderOf = (listenerId: string | null): ActorRef =>
  listenerId === null ? { kind: 'worker' } : { kind: 'listener', id: listenerId }

/** In place of `revision.status`, for the statuses that end a rollout. */
const ENDS_OF_ROLLOUTS = {
  'revision.deployed': 'A revision was deployed: it serves now.',
  'rollout.failed': 'A rollout failed. `to` names the status, `reason` and `message` the cause.',
  'rollout.skipped': 'A newer rollout replaced one that had not begun.',
  'rollout.interrupted': 'A caller interrupted a rollout.',
} as const

/** Types of the events that webhook endpoints get (docs/webhooks.md). The log's status changes are divided into several types. */
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
