/** For whom a deployment waits while nobody has taken its step. */
import type { Deployment } from '../../generated/prisma/client.ts'
import type { StepKind } from '../../generated/prisma/enums.ts'
import { type Because, because, type ListenerFacts } from '../because.ts'
import type { Core, Tx } from '../context.ts'
import { isSilent } from '../deployments/status.ts'

/** Of a revision or a deployment that waits for nobody. */
export const NOTHING_WAITS = { reason: null, reasonSince: null, statusMessage: null } as const

/** What needs a runtime fails at once with this when none is configured. */
export function noRuntime({ source, deletedAt }: Pick<Deployment, 'source' | 'deletedAt'>): Because {
  // only these can have a listener, and only from the start
  return because('NO_RUNTIME', { listenerWouldDo: source === 'external_container' && !deletedAt })
}

/** Whether there is a runtime for it at all: its listener's, or this installation's. */
export function isServed({ settings }: Core, deployment: { listenerId: string | null }): boolean {
  return deployment.listenerId !== null || settings.runtime !== 'none'
}

/** The listener that should take the deployment's steps; null: a built-in worker. One statement for a listener's deployment, none for any other. */
export async function listenerOf(
  core: Core,
  tx: Tx,
  { listenerId: id }: { listenerId: string | null },
): Promise<ListenerFacts | null> {
  if (id === null) return null
  const select = { computeId: true, lastSeenAt: true, createdAt: true }
  const listener = await tx.sql.listener.findUniqueOrThrow({ where: { id }, select })
  const { computeId, lastSeenAt } = listener
  return { id, computeId, lastSeenAt, silent: isSilent(listener, core.clock()) }
}

/** Who has to take the step. */
export async function waitsFor(
  core: Core,
  tx: Tx,
  deployment: { listenerId: string | null },
  kind: StepKind,
): Promise<Because> {
  const listener = await listenerOf(core, tx, deployment)
  if (!listener) return because('WAITING_FOR_WORKER', { kind })
  return because(listener.silent ? 'LISTENER_SILENT' : 'WAITING_FOR_LISTENER', { kind, listener })
}
