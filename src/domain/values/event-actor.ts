/** The actor of an event (docs/api-rules.md#events-and-streams), with the name that it had at that time. */

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
