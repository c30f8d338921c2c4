/**
 * The listener program without its process: the worker, the control plane over HTTP, the Kubernetes runtime and
 * health.
 * Control plane and cluster may be unavailable at the start. See README.md.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Logger } from 'pino'
import { startWorker } from '../dataplane/worker/worker.ts'
import type { ListenerSettings } from '../platform/config/listener-settings.ts'
import { CHECKOUT } from '../platform/files/checkout.ts'
import { type ClusterRuntime, createClusterRuntime } from './cluster-runtime.ts'
import { remoteControlPlane } from './control-plane.ts'
import { startHealthServer } from './health.ts'
import { instrumented } from './instrumented.ts'
import { LeasedClaims } from './leased-claims.ts'
import { createMetrics, watchCluster } from './metrics.ts'
import { createStatus } from './status.ts'

export interface Listener {
  /** name of this worker at the control plane */
  holder: string
  /** port of the health server */
  port: number
  /** Resolves with the cause when the process must exit and be restarted. */
  lost: Promise<Error>
  /** Releases all claims and ends within about 8 s. Agents in the cluster keep serving. */
  close(): Promise<void>
}

/** Version of package.json; the control plane shows it. */
export const VERSION: string = JSON.parse(readFileSync(path.join(CHECKOUT, 'package.json'), 'utf8')).version

/** `clusterRuntime`: for tests; default: from the settings. Throws ConfigError, and errors of listening. */
export async function startListener(
  settings: ListenerSettings,
  log: Logger,
  clusterRuntime?: ClusterRuntime,
): Promise<Listener> {
  const { runtime, problem } = clusterRuntime ?? (await createClusterRuntime(settings, null, log))
  const status = createStatus(log, 'listener')
  const leased = new LeasedClaims()
  let ending = false
  const metrics = createMetrics('listener', () => leased.count())
  watchCluster(metrics.registry, problem)
  const controlPlane = remoteControlPlane({
    url: settings.CONTROL_PLANE_URL,
    apiKey: settings.CONTROL_PLANE_API_KEY,
    listenerId: settings.LISTENER_ID,
    log,
  })
  const health = await startHealthServer({
    host: settings.LISTENER_HOST,
    port: settings.LISTENER_PORT,
    problem: () => (ending ? 'The listener ends' : (status.problem() ?? problem())),
    registry: metrics.registry,
  }).catch(async (error) => {
    await runtime.close()
    throw error
  })
  let onStuck: (error: Error) => void = () => undefined
  const lost = new Promise<Error>((resolve) => {
    onStuck = resolve
  })
  const worker = await startWorker({
    controlPlane: instrumented(controlPlane, { metrics, status, leased }),
    runtime,
    leaseSeconds: settings.LEASE_SECONDS,
    maxClaims: settings.MAX_CLAIMS,
    version: VERSION,
    podClasses: Object.keys(settings.POD_CLASSES).sort(),
    log,
    onStuck,
  })
  log.info({ holder: worker.holder, version: VERSION, healthPort: health.port }, 'The listener runs')
  return { holder: worker.holder, port: health.port, lost, close }

  async function close(): Promise<void> {
    ending = true
    await worker.stop()
    await runtime.close()
    controlPlane.close()
    await health.close()
  }
}
