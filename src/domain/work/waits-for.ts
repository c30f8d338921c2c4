/** Says for whom a deployment waits: the text of `status_message` while nobody has taken its step. */
import type { Deployment } from '../../generated/prisma/client.ts'
import type { StepKind } from '../../generated/prisma/enums.ts'
import type { Core, Tx } from '../context.ts'
import { isSilent } from '../deployments/status.ts'

const NO_RUNTIME = 'No runtime is configured: start a server with RUNTIME=process or RUNTIME=kubernetes'

/** What needs a runtime fails at once with this when none is configured. */
export function noRuntime({ source, deletedAt }: Pick<Deployment, 'source' | 'deletedAt'>): string {
  // only these can have a listener, and only from the start
  return source === 'external_container' && !deletedAt
    ? `${NO_RUNTIME}, or create the deployment anew with a listener in source_config.listener_id.`
    : `${NO_RUNTIME}.`
}

/** Of a message that says for which listener something waits, as patterns of LIKE: any, and one that has gone silent. */
export const WAITS_FOR_LISTENER = 'Waiting for listener %'
export const WAITS_FOR_SILENT = 'Waiting for listener %heard from%, to %'

/** Whether there is a runtime for it at all: its listener's, or this installation's. */
export function isServed({ settings }: Core, deployment: { listenerId: string | null }): boolean {
  return deployment.listenerId !== null || settings.runtime !== 'none'
}

const TO: Record<StepKind, string> = {
  PROVISION: 'provision the deployment',
  BUILD: 'build it',
  DEPLOY: 'deploy it',
  TEARDOWN: 'tear it down',
}

/** Who should take the deployment's steps. One statement for a listener's deployment, none for any other. */
export async function holderOf(
  core: Core,
  tx: Tx,
  { listenerId }: { listenerId: string | null },
): Promise<{ who: string; silent: string }> {
  if (listenerId === null) return { who: 'a built-in worker (a server with WORKER=on and a RUNTIME)', silent: '' }
  const listener = await tx.sql.listener.findUniqueOrThrow({
    where: { id: listenerId },
    select: { computeId: true, lastSeenAt: true, createdAt: true },
  })
  const since = listener.lastSeenAt?.toISOString().replace(/\.\d+/, '')
  return {
    who: `listener ${listener.computeId} (${listenerId})`,
    silent: isSilent(listener, core.clock())
      ? since
        ? `, not heard from since ${since},`
        : ', never heard from,'
      : '',
  }
}

/** Names a listener by its compute_id and id, and since when it is silent if it is. */
export async function waitsFor(
  core: Core,
  tx: Tx,
  deployment: { listenerId: string | null },
  kind: StepKind,
): Promise<string> {
  const { who, silent } = await holderOf(core, tx, deployment)
  return `Waiting for ${who}${silent} to ${TO[kind]}.`
}
