/** Kinds of actors who decide something; the others carry it out. */
export const DECIDING_ACTOR_KINDS = ['api_key', 'person', 'command_line', 'git_provider'] as const
