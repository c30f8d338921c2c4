/** Finds an HTTPRoute that its Gateway refuses: by its listeners' rules for namespaces and hosts, or for its backend. Pure. */
import type { Progress } from '../../../domain/protocol/protocol.ts'
import type { LiveObject } from '../objects/types.ts'

/** The Gateway's controller sets them in the status of the route. */
const CONDITIONS = ['Accepted', 'ResolvedRefs']

interface Condition {
  type: string
  status: string
  reason: string
  message: string
}

/** Progress for users; null: no Gateway refuses a route. */
export function refusedRoute(objects: readonly LiveObject[]): Progress | null {
  const parents = objects
    .filter(({ kind }) => kind === 'HTTPRoute')
    .flatMap(({ status }) => (status as { parents?: { conditions?: Condition[] }[] } | undefined)?.parents ?? [])
  const refusal = parents
    .flatMap(({ conditions = [] }) => conditions)
    .find(({ type, status }) => CONDITIONS.includes(type) && status === 'False')
  if (!refusal) return null
  const message = `The Gateway refuses the deployment’s HTTPRoute (${refusal.reason}): ${refusal.message}`
  return { reason: 'NO_ENDPOINTS', message }
}
