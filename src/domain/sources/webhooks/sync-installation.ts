/** Handles events of an installation: updates its integrations in every workspace to the provider's state. */

import type { GitProvider } from '../../ports/git-provider.ts'
import { type Core, transaction } from '../../transaction/context.ts'
import { GIT_PROVIDER } from '../../values/event-actor.ts'
import { type Delivery, type DeliveryGroup, lockLease } from './delivery-queue.ts'

/** The state after an action. Other actions change no stored state. */
const STATE_AFTER: Record<string, InstallationState> = { deleted: 'removed', suspend: 'suspended', unsuspend: 'active' }

type InstallationState = 'removed' | 'suspended' | 'active'

/** Returns whether the provider's response agrees with a delivery. Throws ProviderUnavailableError. */
export async function syncInstallation(
  core: Core,
  provider: GitProvider,
  group: DeliveryGroup,
  signal: AbortSignal,
): Promise<(delivery: Delivery) => boolean> {
  const where = { installationId: group.installationId, removedAt: null }
  const found = await core.db.integration.findMany({ where, orderBy: { id: 'asc' } })
  if (found.length === 0) return () => true
  const installation = await provider.installation(group.installationId, signal)
  const state = !installation ? 'removed' : installation.suspended ? 'suspended' : 'active'
  for (const { id, workspaceId } of found) {
    await transaction(core, async (tx) => {
      if (!(await lockLease(tx.sql, group))) return
      const { count } = await tx.sql.integration.updateMany({
        where: { id, removedAt: null, ...IS_CHANGE[state] },
        data: stateColumns(state, tx.now()),
      })
      if (count > 0) tx.emit({ workspaceId, type: EVENT[state], subjectId: id, actor: GIT_PROVIDER })
    })
  }
  return ({ action }) => STATE_AFTER[action ?? ''] === undefined || STATE_AFTER[action ?? ''] === state
}

/** Integrations that a state changes; only those are written and get an event. */
const IS_CHANGE = { removed: {}, suspended: { suspendedAt: null }, active: { suspendedAt: { not: null } } } as const

const EVENT = {
  removed: 'integration.removed',
  suspended: 'integration.suspended',
  active: 'integration.unsuspended',
} as const

function stateColumns(state: InstallationState, now: Date) {
  if (state === 'removed') return { removedAt: now }
  return { suspendedAt: state === 'suspended' ? now : null }
}
