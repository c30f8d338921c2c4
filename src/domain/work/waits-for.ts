/** Says for whom a deployment waits: the text of `status_message` while nobody has taken its step. */
import type { StepKind } from '../../generated/prisma/enums.ts'
import type { Core } from '../context.ts'

/** What needs a runtime fails at once with this when none is configured. */
export const NO_RUNTIME =
  'No runtime is configured: start a server with RUNTIME=process, or name a listener in source_config.listener_id.'

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

/** Who should take the deployment's steps. */
export function holderOf(deployment: { listenerId: string | null }): string {
  return deployment.listenerId === null
    ? 'a built-in worker (a server with WORKER=on and a RUNTIME)'
    : `listener ${deployment.listenerId}`
}

export function waitsFor(deployment: { listenerId: string | null }, kind: StepKind): string {
  return `Waiting for ${holderOf(deployment)} to ${TO[kind]}.`
}
