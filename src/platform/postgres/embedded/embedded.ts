/**
 * Starts or joins the embedded Postgres, used when DATABASE_URL is not set. Several servers share one on the same DATA_DIR;
 * the last one to stop also stops Postgres, unless agents need it. See README.md.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { sleep } from '../../async/retry.ts'
import type { Log } from '../../log/log.ts'
import { type Cluster, ensureCluster } from './cluster.ts'
import { findPostmaster, lastPort, type Postmaster, SUPERUSER, shutDown, shutDownUnused } from './postmaster.ts'
import { spawnPostmaster } from './spawn.ts'
import { ensureDatabase, join, type UsageLock } from './usage-lock.ts'

/** The server's own database. */
const DATABASE = 'pilothouse'

/**
 * Messages of a failed start that may succeed when retried: another process was first on the files or port, or stopped it.
 */
const PASSING =
  /received (fast|immediate|smart) shutdown request|"postmaster\.pid" (already exists|is empty)|could not \w+ (old )?lock file "postmaster\.pid": No such file|bogus data in lock file|could not bind|pre-existing shared memory block/

/** Postgres exits with this text when it can't create its socket, on some container file systems. */
const NO_SOCKETS = 'could not create any Unix-domain sockets'

export interface EmbeddedOptions {
  /** created if missing; the cluster is in `postgres` below it */
  dataDir: string
  /** Postgres settings by name; used only if this call starts it */
  settings?: Record<string, string>
  /** start timeout in ms; default 60 s, because a recovery is slow */
  waitMs?: number
  /** whether agents still need it: then it keeps running after the last server stops */
  needed?: () => boolean
  /** logs when Postgres ended unexpectedly and when it is back */
  log?: Log
}

export interface Embedded {
  /** superuser URL of our database, with the password: never log it */
  url: string
  /** false: it was already running */
  started: boolean
  /** absolute path of the program copy that a start would use */
  programs: string
  /** Resolves with the reason when it ended and can't be restarted; then the server can't work. */
  lost: Promise<Error>
  /** Close your connections first. Stops Postgres if nothing else uses it. May be called again. */
  stop(): Promise<void>
}

/** Starts or joins it. Errors are for the operator and never contain the password. */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const cluster = await ensureCluster(options.dataDir, options.settings?.fsync !== 'off')
  const leaving = new AbortController()
  const needed = options.needed ?? (() => false)
  const portBefore = lastPort(cluster.data)
  const first = await bringUp(cluster, options, leaving.signal)
  const { postmaster, started } = first
  const { port } = postmaster
  if (port !== portBefore && needed())
    options.log?.warn(
      { port, portBefore },
      'the embedded Postgres has another port than before: agents that run already reach their databases when they are started again',
    )
  let { user } = first
  const left = once(leaving.signal, 'abort')
  const staying = stay()

  async function stay(): Promise<void> {
    for (;;) {
      await Promise.race([user.ended, left])
      if (leaving.signal.aborted) return
      // perhaps only the connection broke: then this only joins again
      options.log?.warn({}, 'the connection to the embedded Postgres broke: it is started again if necessary')
      user = (await bringUp(cluster, options, leaving.signal, postmaster)).user
      options.log?.info({}, 'the embedded Postgres is available again')
    }
  }

  async function leave(): Promise<void> {
    leaving.abort()
    const here = await staying.then(
      () => true,
      () => false,
    )
    if (!here) return
    let stays = false
    await user.leave(async () => {
      const server = findPostmaster(cluster.data)
      stays = needed()
      if (server && !stays) await shutDown(server)
    })
    // an agent may have ended in this moment and not stopped Postgres because we were connected
    if (stays && !needed()) await shutDownUnused(cluster.data)
  }

  let stopping: Promise<void> | undefined
  function stop(): Promise<void> {
    stopping ??= leave()
    return stopping
  }
  try {
    await ensureDatabase(urlOf(cluster, postmaster, 'postgres'), DATABASE)
  } catch (error) {
    await stop()
    throw error
  }
  const lost = new Promise<Error>((resolve) => {
    staying.catch((error) => {
      if (!leaving.signal.aborted) resolve(error)
    })
  })
  return { url: urlOf(cluster, postmaster, DATABASE), started, programs: cluster.binaries.folder, lost, stop }
}

/**
 * Joins a running Postgres or starts it. `before`: clients use its port and socket, so both must stay. Rejects when
 * `signal` aborts.
 */
async function bringUp(
  cluster: Cluster,
  { settings = {}, waitMs = 60_000, log }: EmbeddedOptions,
  signal: AbortSignal,
  before?: Postmaster,
): Promise<{ user: UsageLock; postmaster: Postmaster; started: boolean }> {
  const until = Date.now() + waitMs
  let own: { child: ChildProcess; said(): string } | undefined
  let startSettings = settings
  const withdraw = () => own?.child.kill('SIGINT') // no other server would stop it
  const wrongPassword = (cause: unknown) => {
    withdraw()
    throw new Error(`The Postgres in ${cluster.data} does not accept the password in DATA_DIR/postgres-password.`, {
      cause,
    })
  }
  while (Date.now() < until) {
    if (signal.aborted) {
      withdraw()
      throw signal.reason
    }
    const found = findPostmaster(cluster.data)
    if (found && before && found.port !== before.port)
      throw new Error(`Postgres was started again on another port, ${found.port}.`)
    if (found?.isListening && before?.hasSocket && !found.hasSocket)
      throw new Error('Postgres was started again without its Unix socket, by a server of an earlier version.')
    const user = found?.isListening && (await join(urlOf(cluster, found, 'postgres')).catch(wrongPassword))
    if (user) return { user, postmaster: found, started: found.pid === own?.child.pid }
    if (own && hasEnded(own.child)) {
      if (own.said().includes(NO_SOCKETS)) {
        startSettings = { ...settings, unix_socket_directories: '' }
        log?.warn(
          {},
          'the embedded Postgres can’t make a Unix socket in its data directory, so servers reach it by TCP',
        )
      } else if (!PASSING.test(own.said()))
        throw new Error(`Postgres did not start: ${own.said().slice(-2_000).trim()}`)
      own = undefined
      await sleep(100)
    } else if (!found && !own)
      own = spawnPostmaster(cluster, before?.port ?? (await choosePort(cluster)), startSettings)
    await sleep(20)
  }
  throw new Error(`Postgres did not answer within ${Math.round(waitMs / 1000)} s; see ${cluster.log}.`)
}

/** URL with the socket if clients can use it. On both ways the server must prove that it knows the password. */
function urlOf({ password, socketFolder }: Cluster, { port, hasSocket }: Postmaster, database: string): string {
  const url = new URL(`postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`)
  if (hasSocket && socketFolder !== null) url.searchParams.set('host', socketFolder)
  url.searchParams.set('require_auth', 'scram-sha-256')
  return url.href
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined
}

/** The previous port if it is free: running agents and other servers know it. */
async function choosePort({ data }: Cluster): Promise<number> {
  const last = lastPort(data)
  return last === undefined ? freePort() : freePort(last).catch(() => freePort())
}

/** Rejects if `port` is taken; 0: any free port. */
function freePort(port = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = net.createServer()
    probe.on('error', reject)
    probe.listen(port, '127.0.0.1', () => {
      const { port } = probe.address() as net.AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
