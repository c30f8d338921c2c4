/** Opens the migrated database and the domain core, for the server and the command line. */
import type { Logger } from 'pino'
import { createGitProvider } from '../adapters/git-provider/create-git-provider.ts'
import { createLazyLogin, createOAuthClient } from '../adapters/oauth/create.ts'
import { createRegistry } from '../adapters/registry.ts'
import { createStorage } from '../adapters/storage/create-storage.ts'
import { createWebhookSender } from '../adapters/webhooks.ts'
import { supervisorLives } from '../dataplane/process/processes/supervisor-locks.ts'
import { createWorkspaceQueue, createWriteQueue } from '../domain/concurrency/write-queue.ts'
import type { Core, DomainSettings } from '../domain/transaction/context.ts'
import { agentHostsOf } from '../domain/values/agent-host.ts'
import { createBatcher } from '../platform/async/batcher.ts'
import { createInFlight } from '../platform/async/in-flight.ts'
import { type Jobs, startJobs } from '../platform/async/jobs.ts'
import { type Config, ConfigError } from '../platform/config/config.ts'
import type { Log } from '../platform/log/log.ts'
import { connectDatabase, type Database } from '../platform/postgres/client.ts'
import { databaseClock } from '../platform/postgres/clock.ts'
import { placePrograms } from '../platform/postgres/embedded/account.ts'
import { type Embedded, startEmbedded } from '../platform/postgres/embedded/embedded.ts'
import { MigrationError, migrate } from '../platform/postgres/migrate.ts'
import { isPooled, requireDirect, requireRoleSettings } from '../platform/postgres/pooler.ts'
import { isUnavailable } from '../platform/postgres/single-connection.ts'
import { markInUse, removeUnusedCopies } from '../platform/programs/programs.ts'
import { refuseUnfinished } from './backup/contents.ts'
import { type DatabaseWait, reasonOf } from './database-wait.ts'
import { loadKeyRing } from './keyring-file.ts'
import { createBuildSources } from './source-access.ts'

/** Timeout of one teardown try; a failed one is retried. Longer than the longest grace period of pods. */
const TEARDOWN_DEADLINE_MINUTES = 75
const COPY_REMOVAL_SECONDS = 3600

export interface Opened {
  core: Core
  database: Database
  /** direct database URL with its password: never log it. Null: only a pooler URL exists */
  direct: string | null
  /** migrations applied by this start */
  migrated: string[]
  /** Resolves with the reason when the embedded Postgres ended and can't be restarted. */
  lost: Promise<Error>
  /** Waits for running queries. Stops the embedded Postgres if no other server and no agent uses it. */
  close(): Promise<void>
}

interface CoreOptions {
  clock?: () => Date
  /** for a DATABASE_URL; default: no waiting */
  waits?: DatabaseWait
}

/**
 * Starts or joins the embedded Postgres unless DATABASE_URL is set. Throws ConfigError and MigrationError for the operator.
 */
export async function createCore(config: Config, log: Logger, options: CoreOptions = {}): Promise<Opened> {
  const { clock, waits = (work) => work() } = options
  // Postgres, builds and agents then run as other accounts and must read files created for them; private files get explicit
  // modes
  if (process.getuid?.() === 0) process.umask(0o022)
  refuseUnfinished(config)
  const keyring = await loadKeyRing(config)
  const gitProvider = await createGitProvider(config, log)
  const registry = await createRegistry(config)
  const embedded = config.DATABASE_URL ? null : await startOwnPostgres(config, log)
  try {
    const reach = () => bringUpToDate(config, embedded?.url ?? null, log)
    const { url, direct, migrated } = await (embedded ? reach() : waits(reach, mayPass)).catch((cause) => {
      throw cantBeReached(cause)
    })
    const own = await databaseClock(direct ?? url, log)
    const database = connectDatabase({
      url,
      pooled: url === direct ? undefined : { direct },
      poolSize: config.DATABASE_POOL,
      workerPoolSize: config.DATABASE_WORKER_POOL,
      querySeconds: config.DATABASE_QUERY_SECONDS,
      log,
    })
    // a listening server replaces this with its real port
    const publicUrl = () => publicUrlOf(config)
    const tarballs = await createStorage({ config, keyring, publicUrl: () => core.publicUrl() })
    const core: Core = {
      ...database.requests,
      wake: database.wake,
      renew: database.renew,
      gather: createBatcher(),
      deploymentQueue: createWriteQueue(),
      workspaceQueue: createWorkspaceQueue(config.DATABASE_POOL),
      keysInUse: new Set(),
      keyring,
      settings: settingsOf(config),
      clock: clock ?? own.now,
      log,
      publicUrl,
      gitProvider,
      oauth: createOAuthClient({ allow: config.OUTBOUND_ALLOW }),
      webhooks: createWebhookSender({ allow: config.OUTBOUND_ALLOW }),
      login: createLazyLogin(config),
      inFlight: createInFlight(),
      tarballs,
      registry,
    }
    core.sources = createBuildSources(core)
    const programs = startCopyRemoval(config, embedded, log)
    return {
      core,
      database,
      direct,
      migrated,
      lost: embedded ? embedded.lost.then((cause) => cantBeUsed(config, cause)) : new Promise(() => {}),
      async close() {
        own.stop()
        await programs?.stop()
        await database.close()
        await embedded?.stop()
      },
    }
  } catch (error) {
    await embedded?.stop()
    throw error
  }
}

/** Public URL of a server with these settings. `bound`: the address it listens on, if known. */
export function publicUrlOf(config: Config, bound: { host: string; port: number } | null = null): string {
  if (config.PUBLIC_URL) return config.PUBLIC_URL.replace(/\/$/, '')
  const { host: address, port } = bound ?? { host: config.HOST, port: config.PORT }
  // clients can't connect to a wildcard address
  const host = ['0.0.0.0', '::'].includes(address) ? 'localhost' : address
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

async function startOwnPostgres(config: Config, log: Logger): Promise<Embedded> {
  try {
    // agents have their databases in it
    const needed = () => supervisorLives(config.DATA_DIR)
    return await startEmbedded({ dataDir: config.DATA_DIR, needed, log })
  } catch (cause) {
    throw cantBeUsed(config, cause)
  }
}

function cantBeUsed({ DATA_DIR }: Config, cause: unknown): ConfigError {
  return new ConfigError(`The embedded Postgres in ${DATA_DIR} can't be used: ${reasonOf(cause)}`, { cause })
}

/** First use of the database: connection problems show here. `own`: URL of the embedded one. */
async function bringUpToDate(
  config: Config,
  own: string | null,
  log: Logger,
): Promise<{ url: string; direct: string | null; migrated: string[] }> {
  const url = config.DATABASE_URL ?? own!
  const direct = own ?? (await directUrl(config, url))
  if (direct === null) log.warn(NO_DIRECT_URL)
  const migrated = await migrate(direct ?? url, { log, pooled: direct === null })
  if (direct !== url) await requireRoleSettings(url)
  return { url, direct, migrated }
}

/** A migration whose connection broke was rolled back, so it can be retried. */
const mayPass = (error: unknown) => isUnavailable(error instanceof MigrationError ? error.cause : error)

function cantBeReached(cause: unknown): Error {
  if (cause instanceof MigrationError || cause instanceof ConfigError) return cause
  return new ConfigError(`The database can't be used: ${reasonOf(cause)}. See DATABASE_URL.`, { cause })
}

const NO_DIRECT_URL =
  'there is a connection pooler at DATABASE_URL, which does not support LISTEN: changes are polled every second. Set DATABASE_DIRECT_URL'

/** Null when only a pooler URL exists. */
async function directUrl({ DATABASE_DIRECT_URL, RUNTIME, WORKER }: Config, url: string): Promise<string | null> {
  if (DATABASE_DIRECT_URL) {
    await requireDirect(DATABASE_DIRECT_URL, url)
    return DATABASE_DIRECT_URL
  }
  if (!(await isPooled(url))) return url
  if (RUNTIME === 'process' && WORKER)
    throw new ConfigError(
      'RUNTIME=process creates databases, which can’t be done through the connection pooler at DATABASE_URL: set DATABASE_DIRECT_URL.',
    )
  return null
}

function settingsOf(config: Config): DomainSettings {
  return {
    deploymentModes: config.DEPLOYMENT_MODES,
    runtime: config.RUNTIME,
    idleMinutes: config.RUNTIME === 'kubernetes' ? null : config.APP_IDLE_MINUTES,
    podClasses: config.RUNTIME === 'kubernetes' ? Object.keys(config.POD_CLASSES).sort() : [],
    agentHosts: config.APPS_URL ? agentHostsOf(config.APPS_URL) : null,
    clusterDoor: config.DOOR_TOKEN
      ? { listeners: config.DOOR_LISTENERS, customUrls: config.DOOR_SERVICE !== undefined }
      : null,
    deadlineMinutes: {
      PROVISION: config.PROVISION_DEADLINE_MINUTES,
      BUILD: config.BUILD_DEADLINE_MINUTES,
      DEPLOY: config.DEPLOY_DEADLINE_MINUTES,
      TEARDOWN: TEARDOWN_DEADLINE_MINUTES,
    },
    builderWaitMinutes: config.BUILDER_WAIT_MINUTES,
    gitDirectory: config.GIT_DIRECTORY,
    uploadsPerDeployment: config.UPLOADS_PER_DEPLOYMENT,
    sessionHours: config.SESSION_HOURS,
    retention: {
      logDays: config.LOG_RETENTION_DAYS,
      linesPerRevision: config.LOG_LINES_PER_REVISION,
      eventDays: config.EVENT_RETENTION_DAYS,
    },
    metrics: {
      fineHours: config.METRICS_HOURS,
      minuteDays: config.METRICS_MINUTE_DAYS,
      days: config.METRICS_DAYS,
    },
  }
}

/** Marks our program copies as used, and removes unused ones. Returns null when no program runs from a copy. */
function startCopyRemoval(config: Config, embedded: Embedded | null, log: Log): Jobs | null {
  if (!embedded && !(config.WORKER && config.RUNTIME === 'process')) return null
  async function round(): Promise<void> {
    if (embedded) await markInUse(embedded.programs)
    const removed = await removeUnusedCopies(placePrograms(config.DATA_DIR))
    if (removed.length > 0) log.info({ removed }, 'unused copies of programs were removed')
  }
  return startJobs(log, [{ name: 'removal of programs', intervalSeconds: COPY_REMOVAL_SECONDS, round }])
}
