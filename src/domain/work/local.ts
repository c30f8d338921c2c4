/** The control plane for the built-in worker: the same verbs that listeners use, called in process. */
import type { Core } from '../context.ts'
import { claim } from './claim.ts'
import { complete } from './complete.ts'
import { heartbeat } from './heartbeat.ts'
import type { Scope } from './lease.ts'
import { appendLogs } from './logs.ts'
import type { ControlPlane } from './protocol.ts'
import { release, releaseHolder } from './release.ts'

/** The built-in worker has the deployments that name no listener. */
export function localControlPlane(core: Core): ControlPlane {
  const scope: Scope = { listenerId: null }
  return {
    claim: (request, signal) => claim(core, scope, request, signal),
    heartbeat: (request, signal) => heartbeat(core, scope, request, signal),
    logs: (request) => appendLogs(core, scope, request),
    complete: (request) => complete(core, scope, request),
    release: (held) => release(core, scope, held),
    releaseHolder: (holder) => releaseHolder(core, scope, holder),
  }
}
