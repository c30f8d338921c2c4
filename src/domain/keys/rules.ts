/** The rules between the fields of a new API key (docs/api-rules.md#who-is-calling). Pure. */
import type { Role } from '../../generated/prisma/enums.ts'
import type { Violation } from '../errors/errors.ts'
import { violation } from '../parsing/parse.ts'

export interface KeyFields {
  role: Role
  listener_id?: string | null
  agent_id?: string | null
  organization_wide?: boolean | null
  secrets_read?: boolean | null
}

/** Roles whose keys belong to one listener or agent, with the field that names it. */
const BOUND_ROLES = { listener: 'listener_id', agent: 'agent_id' } as const

/** Listener and agent keys belong to one workspace. No machine key reads secrets by the API (README.md). */
export function keyViolations(key: KeyFields): Violation[] {
  const bound = key.role === 'listener' || key.role === 'agent'
  return [
    ...Object.entries(BOUND_ROLES).flatMap(([role, member]) => {
      const named = key[member] != null
      if (role === key.role) return named ? [] : [violation(member, `Required for the role ${role}.`, 'missing')]
      return named ? [violation(member, `Only for the role ${role}.`)] : []
    }),
    ...(bound && key.organization_wide ? [violation('organization_wide', `Not for the role ${key.role}.`)] : []),
    ...((bound || key.role === 'builder') && key.secrets_read
      ? [violation('secrets_read', `Not for the role ${key.role}.`)]
      : []),
  ]
}
