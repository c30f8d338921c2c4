/**
 * Starts a builder: a worker that takes only BUILD steps, with the control plane over HTTP and this machine's container engine.
 * If either is unavailable it keeps trying; `/readyz` and the log name the problem.
 */
import os from 'node:os'
import path from 'node:path'
import type { Logger } from 'pino'
import { createSourceBuilder } from '../dataplane/builder/source-builder.ts'
import type { Runtime, SourceBuilder } from '../dataplane/runtimes/runtime.ts'
import { startWorkerProgram, type Telemetry, type WorkerProgram } from '../listener/worker-program.ts'
import { sleep } from '../platform/async/retry.ts'
import { packageIndexes, suppliedServer } from '../platform/config/build-settings.ts'
import type { BuilderSettings } from '../platform/config/builder-settings.ts'
import { engineEnvironment } from '../platform/config/config.ts'
import { VERSION } from '../platform/files/checkout.ts'
import { type BuildAccess, createBuildAccess } from './build-access.ts'
import { builderControlPlane } from './control-plane.ts'

/** delay before the next check while images can't be built */
const UNREADY_WAIT_MS = 500
const READINESS_CHECK_MS = 5000

/** `environment`: variables for the engine. Throws when the health port can't be opened. */
export async function startBuilder(
  settings: BuilderSettings,
  environment: Record<string, string | undefined>,
  { log, tracing }: Telemetry,
): Promise<WorkerProgram> {
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
  const readiness = watchReadiness(images.problem, log)
  const program = await startWorkerProgram({
    name: 'builder',
    plane,
    runtime: buildRuntime(images, access),
    health: { host: settings.BUILDER_HOST, port: settings.BUILDER_PORT },
    problem: (ofPlane, ending) => (ending ? 'The builder is shutting down' : (readiness.problem() ?? ofPlane)),
    wrap: (watched) => ({
      ...watched,
      async claim(request, signal) {
        if (readiness.problem() === null) return watched.claim(request, signal)
        await sleep(UNREADY_WAIT_MS, signal)
        return []
      },
    }),
    async closeRuntime() {
      await readiness.stop()
      images.close()
    },
    leaseSeconds: settings.LEASE_SECONDS,
    maxClaims: atATime,
    holder: settings.BUILDER_NAME ?? os.hostname(),
    log,
    tracing,
  })
  log.info({ name: program.holder, version: VERSION, healthPort: program.port }, 'The builder is running')
  return program
}

/** The runtime of a builder's worker: it only builds. */
function buildRuntime(images: SourceBuilder, access: BuildAccess): Runtime {
  const unsupportedStep = async () => {
    throw new Error('A builder was given a step other than BUILD')
  }
  return {
    build: (claim, step, ...more) =>
      access.withClaim(claim, step.revision.id, () => images.build(claim, step, ...more)),
    destroy: images.destroy,
    async close() {
      images.close()
    },
    provision: unsupportedStep,
    deploy: unsupportedStep,
    teardown: unsupportedStep,
    // no agent serves here, and the machine is not shared with other workers
    ensure() {},
    async prune() {},
    async drop() {},
    health: () => undefined,
    registerHolder: async () => async () => {},
    async releaseDeadHolders() {},
  }
}

/**
 * Watches whether this machine can build, and logs each change once. While it can't, it takes no builds that other builders
 * could do. `look` returns the problem or null.
 */
function watchReadiness(look: (signal: AbortSignal) => Promise<string | null>, log: Logger) {
  const stopping = new AbortController()
  let problem: string | null = 'The first check for a container engine is still running'
  const looking = watch()

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      const found = await look(stopping.signal).catch((error: Error) => error.message)
      if (stopping.signal.aborted) return
      if (found !== problem && found !== null) log.error({ reason: found }, 'Images can’t be built here')
      if (found !== problem && found === null) log.info('Images can be built here')
      problem = found
      await sleep(READINESS_CHECK_MS, stopping.signal)
    }
  }

  return {
    /** Why it can't build, for people; null: it can. */
    problem: () => problem,
    async stop(): Promise<void> {
      stopping.abort()
      await looking
    },
  }
}
