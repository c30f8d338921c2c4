/**
 * The listener program without its process: a worker with the Kubernetes runtime. Control plane and cluster may be
 * unavailable at the start. See README.md.
 */
import type { ListenerSettings } from '../platform/config/listener-settings.ts'
import { VERSION } from '../platform/files/checkout.ts'
import { type ClusterRuntime, createClusterRuntime } from './cluster-runtime.ts'
import { remoteControlPlane } from './control-plane.ts'
import { startWorkerProgram, type Telemetry, type WorkerProgram } from './worker-program.ts'

/** `clusterRuntime`: for tests; default: from the settings. Throws ConfigError, and errors of listening. */
export async function startListener(
  settings: ListenerSettings,
  { log, tracing }: Telemetry,
  clusterRuntime?: ClusterRuntime,
): Promise<WorkerProgram> {
  const { runtime, problem } = clusterRuntime ?? (await createClusterRuntime(settings, null, log))
  const plane = remoteControlPlane({
    url: settings.CONTROL_PLANE_URL,
    apiKey: settings.CONTROL_PLANE_API_KEY,
    listenerId: settings.LISTENER_ID,
    log,
  })
  const program = await startWorkerProgram({
    name: 'listener',
    plane,
    runtime,
    health: { host: settings.LISTENER_HOST, port: settings.LISTENER_PORT },
    problem: (ofPlane, ending) => (ending ? 'The listener ends' : (ofPlane ?? problem())),
    clusterProblem: problem,
    // agents in the cluster keep serving
    closeRuntime: () => runtime.close(),
    leaseSeconds: settings.LEASE_SECONDS,
    maxClaims: settings.MAX_CLAIMS,
    version: VERSION,
    podClasses: Object.keys(settings.POD_CLASSES).sort(),
    log,
    tracing,
  })
  log.info({ holder: program.holder, version: VERSION, healthPort: program.port }, 'The listener runs')
  return program
}
