/** Who did what an event tells of (docs/api-rules.md#events-and-streams): noted when it is written, so that the name is the one of then. */

/** Each with what it means, for people. */
export const ACTOR_KINDS = {
  api_key: 'The holder of an API key: `name` is what the key was called.',
  person: 'Somebody with a JWT: `id` and `name` are its `sub`.',
  listener: 'A listener that works in somebody’s compute infrastructure: `name` is its `compute_id`.',
  worker: 'The worker that is part of the server.',
  git_provider: 'The git provider, by its webhook: a push, or what became of an installation.',
  command_line: 'Somebody who may run commands on the server’s machine.',
  system: 'The server itself: what follows from the rules and the clock.',
} as const
export type ActorKind = keyof typeof ACTOR_KINDS
export const ACTOR_KIND_WORDS = Object.keys(ACTOR_KINDS) as [ActorKind, ...ActorKind[]]

/** Those that decide something, and don't just carry it out. An index of the log has what they did. */
export const DECIDING_KINDS = ['api_key', 'person', 'command_line', 'git_provider'] as const satisfies ActorKind[]

/** Not of a kind that only a newer server knows. */
export const isActorKind = (kind: string): kind is ActorKind => Object.hasOwn(ACTOR_KINDS, kind)

export interface EventActor {
  kind: ActorKind
  /** of the key or the listener; a person's `sub`; null where the kind says it all */
  id: string | null
  /** null: nobody knows, or the kind says it all */
  name: string | null
}

/**
 * What the writer of an event says of it. Without a name the log looks a listener's up, and without a kind whether the
 * subject is a key or a person.
 */
export type ActorRef = { kind: ActorKind; id?: string | null; name?: string | null } | { kind?: undefined; id: string }

export const SYSTEM: ActorRef = { kind: 'system' }
export const COMMAND_LINE: ActorRef = { kind: 'command_line' }
/** The subject of what the command line does in the dashboard; no person can have it. */
export const COMMAND_LINE_SUBJECT = 'command_line'
export const GIT_PROVIDER: ActorRef = { kind: 'git_provider' }

/** Who holds the deployments of this listener, or (null) of none: the built-in worker. */
export const holderOf = (listenerId: string | null): ActorRef =>
  listenerId === null ? { kind: 'worker' } : { kind: 'listener', id: listenerId }
