/**
 * Starts a builder: a worker that takes only BUILD steps, with the control plane over HTTP and this machine's container engine.
 * If either is unavailable it keeps trying; `/readyz` and the log name the problem.
 */
import os from 'node:os'
import path from 'node:path'
import type { Logger } from 'pino'
import { createSourceBuilder } from '../dataplane/builder/source-builder.ts'
import { startWorker } from '../dataplane/worker/worker.ts'
import { startHealthServer } from '../listener/health.ts'
import { instrumented } from '../listener/instrumented.ts'
import { LeasedClaims } from '../listener/leased-claims.ts'
import { createMetrics } from '../listener/metrics.ts'
import { VERSION } from '../listener/run.ts'
import { createStatus } from '../listener/status.ts'
import { sleep } from '../platform/async/retry.ts'
import { packageIndexes, suppliedServer } from '../platform/config/build-settings.ts'
import type { BuilderSettings } from '../platform/config/builder-settings.ts'
import { engineEnvironment } from '../platform/config/config.ts'
import { createBuildAccess } from './build-access.ts'
import { createBuildRuntime } from './build-runtime.ts'
import { builderControlPlane } from './control-plane.ts'
import { watchReadiness } from './readiness.ts'

/** delay before the next check while images can't be built */
const UNREADY_WAIT_MS = 500

export interface Builder {
  port: number
  /** Resolves with the cause when this process must be restarted. */
  lost: Promise<Error>
  /** Ends every build and releases its claim, so another builder can take it. Takes at most about 8 s. */
  close(): Promise<void>
}

/** `environment`: variables for the engine. Throws when the health port can't be opened. */
export async function startBuilder(
  settings: BuilderSettings,
  environment: Record<string, string | undefined>,
  log: Logger,
): Promise<Builder> {
  const status = createStatus(log, 'builder')
  const leased = new LeasedClaims()
  const metrics = createMetrics('builder', () => leased.count())
  const plane = builderControlPlane({
    url: settings.CONTROL_PLANE_URL,
    apiKey: settings.CONTROL_PLANE_API_KEY,
    log,
  })
  const access = createBuildAccess(plane.caller)
  const atATime = settings.MAX_BUILDS ?? Math.max(2, os.availableParallelism())
  const images = createSourceBuilder({
    engine: settings.BUILDER,
    env: engineEnvironment(environment),
    dataDir: settings.DATA_DIR,
    gitDirectory: settings.GIT_DIRECTORY ?? path.join(settings.DATA_DIR, 'git'),
    outboundAllow: settings.OUTBOUND_ALLOW,
    appUser: settings.APP_USER,
    ...access,
    freeDiskMb: settings.BUILD_FREE_DISK_MB,
    keepsImages: false,
    servers: {
      node: suppliedServer(settings.AGENT_SERVER_NODE, settings.AGENT_SERVER_NODE_COMMAND),
      python: suppliedServer(settings.AGENT_SERVER_PYTHON, settings.AGENT_SERVER_PYTHON_COMMAND),
    },
    packageIndexes: packageIndexes(settings),
    base: { node: settings.NODE_BASE_IMAGE, python: settings.PYTHON_BASE_IMAGE },
    maxBuilds: atATime,
    warn: (about, message) => log.warn(about, message),
  })
  const runtime = createBuildRuntime(images, access)
  const readiness = watchReadiness(images.problem, log)
  let ending = false
  const health = await startHealthServer({
    host: settings.BUILDER_HOST,
    port: settings.BUILDER_PORT,
    problem: () => (ending ? 'The builder is shutting down' : (readiness.problem() ?? status.problem())),
    registry: metrics.registry,
  }).catch(async (error) => {
    await readiness.stop()
    await runtime.close()
    throw error
  })
  let onStuck: (error: Error) => void = () => undefined
  const lost = new Promise<Error>((resolve) => {
    onStuck = resolve
  })
  const watched = instrumented(plane, { metrics, status, leased })
  const worker = await startWorker({
    controlPlane: {
      ...watched,
      async claim(request, signal) {
        if (readiness.problem() === null) return watched.claim(request, signal)
        await sleep(UNREADY_WAIT_MS, signal)
        return []
      },
    },
    runtime,
    leaseSeconds: settings.LEASE_SECONDS,
    maxClaims: atATime,
    holder: settings.BUILDER_NAME ?? os.hostname(),
    log,
    onStuck,
  })
  log.info({ name: worker.holder, version: VERSION, healthPort: health.port }, 'The builder is running')
  return { port: health.port, lost, close }

  async function close(): Promise<void> {
    ending = true
    await Promise.all([worker.stop(), readiness.stop()])
    await runtime.close()
    plane.close()
    await health.close()
  }
}
