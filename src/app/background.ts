/** Background work of a server: listens to other servers' notifications, enforces deadlines, runs the worker. */
import os from 'node:os'
import type { Logger } from 'pino'
import type { ReadAgentFigures } from '../api/server/agent-figures.ts'
import type { DoorStreams } from '../api/server/door-stream.ts'
import { createSourceBuilder } from '../dataplane/builder/source-builder.ts'
import { programFile } from '../dataplane/process/machine/programs.ts'
import { createProcessRuntime, type ProcessRuntime } from '../dataplane/process/runtime.ts'
import type { Runtime } from '../dataplane/runtimes/runtime.ts'
import { startWorker, withTimeLimits } from '../dataplane/worker/worker.ts'
import { localControlPlane } from '../domain/claims/control-plane.ts'
import { goneDeployments } from '../domain/claims/liveness.ts'
import { databaseFailure } from '../domain/errors/database-error.ts'
import { KEY_CHANNEL } from '../domain/keys/manage.ts'
import { LOGIN_CHANNEL } from '../domain/logins/login.ts'
import type { ControlPlane } from '../domain/protocol/protocol.ts'
import { GITPROVIDER_CHANNEL } from '../domain/sources/webhooks/receive.ts'
import { type Core, OAUTH_CHANNEL, type ReadCore, WORK_CHANNEL } from '../domain/transaction/context.ts'
import { createDeliveries } from '../domain/webhooks/deliver.ts'
import { installationId } from '../domain/workspaces.ts'
import { type Job, startJobs } from '../platform/async/jobs.ts'
import { createNotifier } from '../platform/async/notifier.ts'
import { resultWithin } from '../platform/async/time-limit.ts'
import { packageIndexes, suppliedServer } from '../platform/config/build-settings.ts'
import { type Config, ConfigError, engineEnvironment } from '../platform/config/config.ts'
import type { Database } from '../platform/postgres/client.ts'
import { type Listening, listen } from '../platform/postgres/listen.ts'
import { createAdmission } from './admission.ts'
import { type Certificate, readAppsCertificate } from './apps-certificate.ts'
import { boundsOf, createDoorAccess } from './door-access.ts'
import { createImageStore, pullCredentialsOf } from './image-store.ts'
import { changeJobsOf, gitProviderJobsOf, jobsOf } from './jobs.ts'
import { checkAccessLog } from './logger.ts'
import { createSourceAccess } from './source-access.ts'

/** time for calls to OAuth providers at stop: their responses can't be requested again */
const IN_FLIGHT_MS = 6000

/** timeout of one worker report, including lock waits; then it is retried */
const REPORT_MS = 20_000

/** interval of the check for agents whose deployments are gone */
const ORPHAN_CHECK_SECONDS = 60

/** interval in which doors learn of new and revoked keys */
const DOOR_NEWS_SECONDS = 2

/** interval in which the access log gets a new file after a rotation */
const ACCESS_LOG_SECONDS = 2

/** interval in which the door gets the certificate of its port */
const CERTIFICATE_SECONDS = 5

/** interval in which webhook endpoints get new events */
const WEBHOOK_SECONDS = 1

/** time to release leases before agents are stopped */
const RELEASE_MS = 2000

/** with AGENTS_END_WITH_SERVER, agents of a crashed server end when no server has returned in this time */
const CRASH_GRACE_SECONDS = 10

export interface Ending {
  agents: boolean
}

export interface BackgroundOptions {
  core: Core
  database: Database
  config: Config
  log: Logger
  /** direct database URL without a pooler; null: none */
  direct: string | null
  /** receives revoked keys */
  keys: { revoked(keyId: string): void; missed(): void }
  /** null: this server has no doors in clusters */
  doors: DoorStreams | null
  /** called when the worker can't stop a step: this process must end */
  onStuck: (error: Error) => void
}

export interface Background {
  /** What the door of this machine counted; null: there is none. */
  requestFigures: ReadAgentFigures
  /** Takes no more work and releases all leases. Agents continue unless `ending` stops them. Takes at most about 8 s. */
  stop(ending: Ending): Promise<void>
}

/** A database outage has its own log line (platform/postgres/connection.ts), so failing jobs don't log it. */
const isOutage = (error: unknown) => databaseFailure(error) === 'lost'

/** Resolves when LISTEN is active and the worker runs. */
export async function startBackground(options: BackgroundOptions): Promise<Background> {
  const { core, database, config, log, direct, keys, doors, onStuck } = options
  const notifier = createNotifier()
  core.notifier = notifier
  // only this server's commits: other servers announce theirs
  core.announce = () => changeJobs.wake()
  // background work has a separate pool, so neither it nor requests wait for the other
  const own: Core = { ...core, ...database.background }
  const gitProviderJobs = startJobs(log, gitProviderJobsOf(own), isOutage)
  const changeJobs = startJobs(log, changeJobsOf({ ...own, query: database.look }), isOutage)
  const listening = await new Promise<Listening>((resolve) => {
    const started = listen({
      url: direct,
      channels: [
        ...[WORK_CHANNEL, KEY_CHANNEL, OAUTH_CHANNEL, LOGIN_CHANNEL],
        ...(core.gitProvider ? [GITPROVIDER_CHANNEL] : []),
      ],
      onNotify(channel, payload) {
        if (channel === KEY_CHANNEL) keys.revoked(payload)
        else if (channel === GITPROVIDER_CHANNEL) gitProviderJobs.wake()
        // workers of a scope, or calls that wait for an authorization, a token's refresh or a login
        else notifier.notify(payload || null)
      },
      onConnect() {
        // notifications during the missing connection were lost
        keys.missed()
        notifier.notifyAll()
        gitProviderJobs.wake()
        resolve(started)
      },
      log,
    })
  })
  let worker: (Pick<Background, 'stop'> & { local: ProcessRuntime | null }) | null = null
  try {
    if (config.WORKER && config.RUNTIME !== 'none') worker = await startOwnWorker()
  } catch (error) {
    await Promise.all([listening.close(), gitProviderJobs.stop(), changeJobs.stop()])
    throw error
  }
  const deliveries = createDeliveries(own)
  const jobs = startJobs(
    log,
    [
      ...jobsOf(own, config.SWEEP_SECONDS),
      { name: 'webhooks', intervalSeconds: WEBHOOK_SECONDS, round: deliveries.round },
      ...(doors ? [newsForDoors(() => doors.tell())] : []),
    ],
    isOutage,
  )
  return {
    requestFigures: async () => worker?.local?.requestFigures() ?? null,
    async stop(ending) {
      // listeners that wait here for work get an empty response immediately
      notifier.close()
      await Promise.all([
        jobs.stop().then(deliveries.stop),
        changeJobs.stop(),
        worker?.stop(ending),
        gitProviderJobs.stop(),
        core.inFlight.close(IN_FLIGHT_MS),
      ])
      await listening.close()
    },
  }

  async function startOwnWorker() {
    const controlPlane = withTimeLimits(localControlPlane(own), REPORT_MS)
    const certificate = config.RUNTIME === 'kubernetes' ? null : readAppsCertificate(config, log)
    if (config.RUNTIME === 'process') await checkAccessLog(config.APPS_ACCESS_LOG)
    const local =
      config.RUNTIME === 'kubernetes'
        ? null
        : await processRuntime(own, config, { adminUrl: direct!, log, controlPlane, usesTls: certificate !== null })
    const runtime = local ?? (await kubernetesRuntime(own, config, log))
    const started = await startWorker({
      controlPlane,
      runtime,
      leaseSeconds: config.LEASE_SECONDS,
      clock: core.clock,
      log,
      onStuck,
      tracing: core.tracing,
    })
    if (core.overload) core.admission = createAdmission(core.overload, () => started.underWay())
    if (core.admission) own.admission = core.admission
    const looks = startJobs(
      log,
      local
        ? [
            agentsWithoutDeployment(own, local),
            newsForDoors(() => local.tellDoor()),
            certificateOfDoor(certificate, local),
            ...(config.APPS_ACCESS_LOG ? [accessLogOfDoor(local)] : []),
          ]
        : [],
      isOutage,
    )
    return {
      local,
      async stop(ending: Ending) {
        const stopped = Promise.all([started.stop(), looks.stop()])
        // an unavailable database must not delay the agents' end
        if (ending.agents) await resultWithin(RELEASE_MS, stopped)
        else await stopped
        await runtime.close({ endAgents: ending.agents })
        await stopped
      },
    }
  }
}

/** Throws ConfigError when the kubeconfig is unusable. */
async function kubernetesRuntime(core: Core, config: Config, log: Logger): Promise<Runtime> {
  // loading its client takes a second, so other servers don't import it
  const { createClusterRuntime } = await import('../listener/cluster-runtime.ts')
  const images = createSourceBuilder({
    engine: config.BUILDER,
    env: engineEnvironment(),
    dataDir: config.DATA_DIR,
    gitDirectory: config.GIT_DIRECTORY,
    outboundAllow: config.OUTBOUND_ALLOW,
    appUser: config.APP_USER,
    sources: createSourceAccess(core),
    store: createImageStore(core, config.BUILD_DEADLINE_MINUTES * 60),
    freeDiskMb: config.BUILD_FREE_DISK_MB,
    servers: agentServers(config),
    packageIndexes: packageIndexes(config),
    base: { node: config.NODE_BASE_IMAGE, python: config.PYTHON_BASE_IMAGE },
    maxBuilds: config.MAX_BUILDS ?? Math.max(2, os.availableParallelism()),
    warn: (about, message) => log.warn(about, message),
  })
  const { registry } = core
  const pullCredentials = registry ? pullCredentialsOf(registry) : undefined
  return (await createClusterRuntime(config, config.K8S_NAMESPACE ?? null, log, images, pullCredentials)).runtime
}

const newsForDoors = (round: () => Promise<void>): Job => ({
  name: 'news for doors about who may call',
  intervalSeconds: DOOR_NEWS_SECONDS,
  round,
})

const accessLogOfDoor = (runtime: ProcessRuntime): Job => ({
  name: 'access log of the door',
  intervalSeconds: ACCESS_LOG_SECONDS,
  round: () => runtime.checkAccessLog(),
})

/** A new door has no certificate, and the files may change. */
const certificateOfDoor = (certificate: (() => Certificate) | null, runtime: ProcessRuntime): Job => ({
  name: 'certificate of the door',
  intervalSeconds: CERTIFICATE_SECONDS,
  round: () => runtime.sendCertificate(certificate?.() ?? null),
})

/** Agents outlive servers, so a job stops those whose deployment is gone. */
function agentsWithoutDeployment(core: ReadCore, runtime: ProcessRuntime): Job {
  return {
    name: 'end of agents whose deployments are gone',
    intervalSeconds: ORPHAN_CHECK_SECONDS,
    async round() {
      const ended = await runtime.endOrphans((ids) => goneDeployments(core, ids))
      for (const { deploymentId, problem } of ended)
        core.log.warn({ deploymentId, problem }, 'the agent of a deployment that is gone was ended')
    },
  }
}

/** Throws ConfigError when the account of builds and agents, or the folder, is unusable. */
async function processRuntime(
  core: Core,
  config: Config,
  {
    adminUrl,
    log,
    controlPlane,
    usesTls,
  }: { adminUrl: string; log: Logger; controlPlane: ControlPlane; usesTls: boolean },
): Promise<ProcessRuntime> {
  const installation = await installationId(core)
  try {
    // bundled now: when the first agent starts, the checkout may be gone or upgraded
    await Promise.all([programFile(config.DATA_DIR, 'supervisor'), programFile(config.DATA_DIR, 'door')])
    return createProcessRuntime({
      dataDir: config.DATA_DIR,
      gitDirectory: config.GIT_DIRECTORY,
      outboundAllow: config.OUTBOUND_ALLOW,
      adminUrl,
      access: createDoorAccess(core, config),
      apps: { port: config.APPS_PORT, url: config.APPS_URL, host: config.HOST, tls: usesTls },
      bounds: boundsOf(config),
      idle: { minutes: config.APP_IDLE_MINUTES },
      appHost: config.APP_HOST,
      port: config.PORT,
      appPorts: config.APP_PORTS,
      appUser: config.APP_USER,
      defaultLimits: {
        memoryMb: config.APP_MEMORY_MB,
        cpus: config.APP_CPUS,
        processes: config.APP_PIDS,
        fileMb: config.APP_FILE_MB,
        diskMb: config.APP_DISK_MB,
      },
      databaseLimits: { maxConnections: config.APP_DATABASE_CONNECTIONS, maxMb: config.APP_DATABASE_MB },
      queues: {
        backlogQuery: config.QUEUE_BACKLOG_QUERY,
        progressQuery: config.QUEUE_PROGRESS_QUERY,
        stallSeconds: config.QUEUE_STALL_SECONDS,
      },
      uidRange: config.APP_UID_RANGE,
      warn: (line) => log.warn(line),
      sources: createSourceAccess(core),
      agentServers: agentServers(config),
      otlpEndpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
      packageIndexes: packageIndexes(config),
      containerEngine: config.CONTAINER_ENGINE,
      engineEnvironment: engineEnvironment(),
      images: {
        engine: config.BUILDER,
        store: createImageStore(core, config.BUILD_DEADLINE_MINUTES * 60),
        freeDiskMb: config.BUILD_FREE_DISK_MB,
      },
      ...(config.MAX_BUILDS ? { maxBuilds: config.MAX_BUILDS } : {}),
      output: { send: controlPlane.output!, warn: (about, message) => log.warn(about, message) },
      supervisors: {
        installation,
        // time in which a crashed server can come back
        orphanHours: config.AGENTS_END_WITH_SERVER ? CRASH_GRACE_SECONDS / 3600 : config.SUPERVISOR_ORPHAN_HOURS,
        drainSeconds: config.DRAIN_SECONDS,
        output: {
          fileBytes: config.APP_OUTPUT_FILE_MB * 1_000_000,
          files: config.APP_OUTPUT_FILES,
          linesPerSecond: config.APP_OUTPUT_LINES_PER_SECOND,
        },
      },
    })
  } catch (cause) {
    throw new ConfigError(`The process runtime can't be used: ${(cause as Error).message}. Or set RUNTIME=none.`, {
      cause,
    })
  }
}

const agentServers = (config: Config) => ({
  node: suppliedServer(config.AGENT_SERVER_NODE, config.AGENT_SERVER_NODE_COMMAND),
  python: suppliedServer(config.AGENT_SERVER_PYTHON, config.AGENT_SERVER_PYTHON_COMMAND),
})
