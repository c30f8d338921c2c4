/** Kinds of actors that make decisions. The other kinds carry them out. */
export const DECIDING_ACTOR_KINDS = ['api_key', 'person', 'command_line', 'git_provider'] as const
