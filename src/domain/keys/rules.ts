/** The rules of a new API key that no single field can tell (contract 1). Pure. */
import type { Role } from '../../generated/prisma/enums.ts'
import type { Violation } from '../errors.ts'
import { violation } from '../parse.ts'

/** What the rules look at. */
export interface SaidOfKey {
  role: Role
  listener_id?: string | null
  organization_wide?: boolean | null
  secrets_read?: boolean | null
}

/** A listener's key is of one listener, so of one workspace, and reads secrets only with the work it is handed. */
export function keyViolations(said: SaidOfKey): Violation[] {
  if (said.role !== 'listener')
    return said.listener_id == null ? [] : [violation('listener_id', 'Only for the role listener.')]
  return [
    ...(said.listener_id == null ? [violation('listener_id', 'Required for the role listener.', 'missing')] : []),
    ...(said.organization_wide ? [violation('organization_wide', 'Not for the role listener.')] : []),
    ...(said.secrets_read ? [violation('secrets_read', 'Not for the role listener.')] : []),
  ]
}
