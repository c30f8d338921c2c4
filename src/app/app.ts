/**
 * Wires a server together: database, bootstrap, authentication, REST and GraphQL, background work. Reads no environment and
 * handles no signals (main.ts does), so tests can create many.
 */
import { mkdir } from 'node:fs/promises'
import os from 'node:os'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { createAuthenticator } from '../api/auth/authenticate.ts'
import { createCredentialCache } from '../api/auth/credential-cache.ts'
import { createCredentialWatch } from '../api/auth/credential-watch.ts'
import { createSignIn } from '../api/auth/sign-in.ts'
import { mountGraphql } from '../api/graphql/mount.ts'
import { createGraphql } from '../api/graphql/yoga.ts'
import { limitConnections } from '../api/limits/address-limits.ts'
import { limitAnonymousRequests } from '../api/limits/anonymous-rate-limit.ts'
import { createChanges } from '../api/realtime/change-watches.ts'
import { createRelay, type Relay } from '../api/realtime/relay.ts'
import { Heartbeat } from '../api/responses/heartbeat.ts'
import { ResponseCache } from '../api/responses/response-cache.ts'
import { restPlugin } from '../api/rest/plugin.ts'
import { createCrossOrigin } from '../api/server/cross-origin.ts'
import { mountDashboard } from '../api/server/dashboard.ts'
import { type DoorStreams, mountDoorStreams } from '../api/server/door-stream.ts'
import { closeHttp, createHttp, databaseCheck } from '../api/server/http.ts'
import { createListening } from '../api/server/listening.ts'
import { mountMetrics } from '../api/server/metrics.ts'
import { databaseFailure } from '../domain/errors/database-error.ts'
import { printableName } from '../domain/parsing/fields.ts'
import type { Core, WriteCore } from '../domain/transaction/context.ts'
import { bootstrap, installationId } from '../domain/workspaces.ts'
import { Overload, watchOverload } from '../platform/async/overload.ts'
import { type Config, ConfigError } from '../platform/config/config.ts'
import { clauseOf } from '../platform/http/outbound-failure.ts'
import type { Database } from '../platform/postgres/client.ts'
import { type Background, type Ending, startBackground } from './background.ts'
import { createCore, publicUrlOf } from './core.ts'
import { createDatabaseWait } from './database-wait.ts'
import { agentAddresses, createClusterDoorNews } from './door-access.ts'
import { checkKeyRing } from './keyring-file.ts'
import { createLimits } from './limits.ts'
import { openTelemetry, type Telemetry } from './telemetry.ts'

export interface App {
  config: Config
  core: Core
  database: Database
  fastify: FastifyInstance
  relay: Relay
  /** admin key created by the first start, null on every other start. Show it once and never log it. */
  generatedKey: string | null
  /**
   * Resolves with the reason when the server can't work any more: its Postgres can't be restarted, or a step can't be
   * stopped.
   */
  lost: Promise<Error>
  /** URL for clients; final once the server has started */
  publicUrl(): string
  /** Listens (on systemd's sockets if given, as file descriptors) and starts background work. */
  start(sockets?: readonly number[]): Promise<void>
  /**
   * Drains: finishes open work, accepts nothing new, ends streams, releases leases. May be called again. `ending` says
   * whether agents end, too; default: AGENTS_END_WITH_SERVER.
   */
  close(ending?: Ending): Promise<void>
}

export interface Overrides {
  log?: Logger
  clock?: () => Date
  /** aborts a start that waits for its database */
  signal?: AbortSignal
}

/** Throws ConfigError and MigrationError, whose messages are for the operator. */
export async function buildApp(config: Config, overrides: Overrides = {}): Promise<App> {
  const telemetry = await openTelemetry(config, 'pilothouse', overrides.log)
  const { log } = telemetry
  const waits = createDatabaseWait(log, config.DATABASE_WAIT_SECONDS, overrides.signal)
  const opened = await createCore(config, log, { clock: overrides.clock, waits })
  try {
    // the database may become unavailable after the migrations
    const found = await waits(
      () => openInstallation(config, opened.core),
      (error) => databaseFailure(error) === 'lost',
    )
    return await assemble(config, telemetry, opened, found)
  } catch (error) {
    await opened.close()
    throw error
  }
}

/** The first start creates the organization and its key. */
async function openInstallation(config: Config, core: WriteCore) {
  const { generatedKey } = await bootstrap(core, { text: config.CONTROL_PLANE_API_KEY, name: operatorName() })
  await checkKeyRing(core.db, core.keyring)
  return { generatedKey, installation: await installationId(core) }
}

async function assemble(
  config: Config,
  { log, tracing }: Telemetry,
  opened: Awaited<ReturnType<typeof createCore>>,
  { generatedKey, installation }: Awaited<ReturnType<typeof openInstallation>>,
): Promise<App> {
  const { core, database, direct } = opened
  core.tracing = tracing
  await mkdir(config.GIT_DIRECTORY, { recursive: true }).catch((cause) => {
    throw new ConfigError(`The folder of GIT_DIRECTORY can't be used: ${cause.message}.`, { cause })
  })

  const credentialCache = createCredentialCache(core)
  const credentials = createCredentialWatch({ queries: database.pools.health, clock: core.clock, log })
  core.credentials = credentials
  const keys = {
    revoked(id: string) {
      credentialCache.forget(id)
      credentials.revoked(id)
    },
    missed() {
      credentialCache.forgetAll()
      credentials.checkNow()
    },
  }
  core.onKeyRevoked = keys.revoked
  core.onKeyRenamed = credentialCache.forget
  core.publicUrl = publicUrl
  const limits = createLimits(config)
  core.slots = limits.slots
  core.searches = limits.searches
  if (limits.reveals) core.reveals = limits.reveals
  const { admission } = limits
  const signIn = createSignIn({ core, credentialCache, admission, installation })
  const { cookieName } = signIn
  const authenticate = createAuthenticator(core, {
    credentialCache,
    cookieName,
    jwt: jwtOf(config),
    admission,
  })
  const databaseAnswers = databaseCheck(database)
  const relay = createRelay({ core, listenUrl: direct })
  core.changes = createChanges(relay)
  const heartbeat = new Heartbeat()
  const overload = new Overload()
  core.overload = overload
  let unwatch: (() => void) | null = null
  let background: Background | null = null
  let starting: Promise<void> | null = null
  let draining = false
  let onStuck: (error: Error) => void = () => undefined
  const stuck = new Promise<Error>((resolve) => {
    onStuck = resolve
  })
  const fastify = createHttp({
    log,
    tracing,
    isTrustedProxy: limits.trusted,
    headerTimeoutMs: config.HEADER_SECONDS * 1000,
    crossOrigin: createCrossOrigin(config.CORS_ORIGINS),
    overload,
    async notReadyReason() {
      if (draining) return 'shutting down'
      if (!background) return 'starting'
      return databaseAnswers()
    },
  })
  const listening = createListening(fastify)
  limitConnections(fastify.server, {
    maxPerAddress: config.CONNECTIONS_PER_ADDRESS,
    isTrustedProxy: limits.trusted,
  })
  limitAnonymousRequests(fastify, admission)
  core.observer = mountMetrics(fastify, {
    database,
    overload,
    slots: limits.slots,
    dataDir: config.DATA_DIR,
    shownDeployments: config.METRICS_DEPLOYMENTS,
    agentFigures: async () => background?.requestFigures() ?? null,
  })
  await mountDashboard(fastify, [agentAddresses(config)])
  const doors: DoorStreams | null = config.DOOR_TOKEN
    ? mountDoorStreams(fastify, config.DOOR_TOKEN, createClusterDoorNews({ ...core, ...database.background }, config))
    : null
  const responseCache = new ResponseCache(config.RESPONSE_CACHE_MB * 1024 * 1024)
  await fastify.register(restPlugin, {
    core,
    authenticate,
    relay,
    heartbeat,
    publicUrl,
    responseCache,
    signIn,
  })
  const graphql = createGraphql({
    core,
    authenticate,
    relay,
    heartbeat,
    responseCache,
    admission,
    graphiql: config.GRAPHIQL,
    introspection: config.INTROSPECTION,
  })
  mountGraphql(fastify, { core, authenticate, ...graphql, stopping: relay.stopping })

  async function start(sockets: readonly number[]): Promise<void> {
    await listening.listen({ host: config.HOST, port: config.PORT, sockets })
    relay.start()
    unwatch = watchOverload(overload, database.roundTrip, log)
    // an unavailable provider matters only to people who sign in there; they then get the error
    core.login
      ?.prepare()
      .catch((error) => log.warn({ said: clauseOf(error) }, 'the provider of OIDC_ISSUER does not answer correctly'))
    background = await startBackground({ core, database, config, log, direct, keys, doors, onStuck })
  }

  async function drain(ending: Ending): Promise<void> {
    draining = true
    unwatch?.()
    await starting?.catch(() => {})
    credentials.stop()
    doors?.close()
    await Promise.all([relay.stop(), background?.stop(ending), closeHttp(fastify)])
    await opened.close()
    await tracing?.stop()
  }

  let closed: Promise<void> | null = null
  return {
    config,
    core,
    database,
    fastify,
    relay,
    generatedKey,
    lost: Promise.race([opened.lost, stuck]),
    publicUrl,
    start(sockets = []) {
      starting ??= start(sockets)
      return starting
    },
    close(ending = { agents: config.AGENTS_END_WITH_SERVER }) {
      closed ??= drain(ending)
      return closed
    },
  }

  function publicUrl(): string {
    return publicUrlOf(config, listening.address())
  }
}

/** Names the first admin key after the account that started the server. A container may have an account without a name. */
function operatorName(): string {
  try {
    return printableName.parse(os.userInfo().username)
  } catch {
    return 'first admin key'
  }
}

function jwtOf({ JWT_ISSUER, JWT_AUDIENCE, JWT_JWKS_URL }: Config) {
  if (!JWT_ISSUER) return null
  return { issuer: JWT_ISSUER, audience: JWT_AUDIENCE!, jwksUrl: JWT_JWKS_URL! }
}
