/** The rules of a new API key that no single field can tell (contract 1). Pure. */
import type { Role } from '../../generated/prisma/enums.ts'
import type { Violation } from '../errors.ts'
import { violation } from '../parse.ts'

/** What the rules look at. */
export interface SaidOfKey {
  role: Role
  listener_id?: string | null
  agent_id?: string | null
  organization_wide?: boolean | null
  secrets_read?: boolean | null
}

/** The roles whose keys are of one thing, and the member that names it. */
const OF_ONE = { listener: 'listener_id', agent: 'agent_id' } as const

/**
 * A listener's key is of one listener and an agent's of one agent, so of one workspace. Neither reads secrets: a
 * listener gets them with the work it is handed, an agent with its revision.
 */
export function keyViolations(said: SaidOfKey): Violation[] {
  const own = said.role === 'listener' || said.role === 'agent'
  return [
    ...Object.entries(OF_ONE).flatMap(([role, member]) => {
      const named = said[member] != null
      if (role === said.role) return named ? [] : [violation(member, `Required for the role ${role}.`, 'missing')]
      return named ? [violation(member, `Only for the role ${role}.`)] : []
    }),
    ...(own && said.organization_wide ? [violation('organization_wide', `Not for the role ${said.role}.`)] : []),
    ...(own && said.secrets_read ? [violation('secrets_read', `Not for the role ${said.role}.`)] : []),
  ]
}
