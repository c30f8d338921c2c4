/**
 * The listener program, without its process: the worker with the control plane over HTTP and the Kubernetes runtime,
 * and its health. Neither the control plane nor the cluster has to be there when it starts: it goes on trying, and
 * `/readyz` and the log say what is wrong. A key that is refused is no reason to end either: a pod that crashes again
 * and again says no more, and what it waits for can be mended without it (a listener that is made, a plan that is
 * changed).
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
  /** how it names itself to the control plane */
  holder: string
  /** of its health */
  port: number
  /** Resolves, with why, when this process has to end and be started again. */
  lost: Promise<Error>
  /** Gives every claim back and ends; what runs in the cluster goes on. At most some 8 s. */
  close(): Promise<void>
}

/** Of package.json: the control plane shows it. */
export const VERSION: string = JSON.parse(readFileSync(path.join(CHECKOUT, 'package.json'), 'utf8')).version

/** `place`: for tests; default: the cluster of the settings. Throws ConfigError, and what listening throws. */
export async function startListener(
  settings: ListenerSettings,
  log: Logger,
  place?: ClusterRuntime,
): Promise<Listener> {
  const { runtime, problem } = place ?? (await createClusterRuntime(settings, null, log))
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
