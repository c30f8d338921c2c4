/** After news of an installation: the integrations of every workspace that has it are as the provider says it is. */
import { type Core, transaction } from '../context.ts'
import type { GitProvider } from '../integrations/provider.ts'
import { type Delivery, type Group, holds } from './lease.ts'

/** What the provider's answer has to be for the delivery to be believed. Other actions change nothing that is kept. */
const EXPECTED: Record<string, State> = { deleted: 'removed', suspend: 'suspended', unsuspend: 'live' }

type State = 'removed' | 'suspended' | 'live'

/** Returns what says of a delivery whether the answer agrees with it. Throws ProviderUnavailableError. */
export async function followInstallation(
  core: Core,
  provider: GitProvider,
  group: Group,
  signal: AbortSignal,
): Promise<(delivery: Delivery) => boolean> {
  const where = { installationId: group.installationId, removedAt: null }
  const found = await core.db.integration.findMany({ where, orderBy: { id: 'asc' } })
  if (found.length === 0) return () => true
  const installation = await provider.installation(group.installationId, signal)
  const state = !installation ? 'removed' : installation.suspended ? 'suspended' : 'live'
  for (const { id, workspaceId } of found) {
    await transaction(core, async (tx) => {
      if (!(await holds(tx.sql, group))) return
      const { count } = await tx.sql.integration.updateMany({
        where: { id, removedAt: null, ...CHANGED[state] },
        data: data(state, tx.now()),
      })
      if (count > 0) tx.emit({ workspaceId, type: EVENT[state], subjectId: id })
    })
  }
  return ({ action }) => EXPECTED[action ?? ''] === undefined || EXPECTED[action ?? ''] === state
}

/** Only a change is written, and told. */
const CHANGED = { removed: {}, suspended: { suspendedAt: null }, live: { suspendedAt: { not: null } } } as const

const EVENT = {
  removed: 'integration.removed',
  suspended: 'integration.suspended',
  live: 'integration.unsuspended',
} as const

function data(state: State, now: Date) {
  if (state === 'removed') return { removedAt: now }
  return { suspendedAt: state === 'suspended' ? now : null }
}
