/**
 * A Postgres of our own, for when no DATABASE_URL is given: the real one, from npm, on files in DATA_DIR. Several
 * servers may start on one DATA_DIR at any time: one of them starts Postgres, the others join, the last one to stop
 * stops it. One that was killed is no obstacle: the next joins what it left running. A Postgres that ends under its
 * servers is started again, where it was. It stays up for others who need it, agents with databases in it, after all
 * servers have gone; it runs from a copy of its programs, so that a server may be upgraded meanwhile.
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

/** What ends a start that may succeed when tried again: somebody else was first, on the files or on the port, or has ended it. */
const PASSING =
  /received (fast|immediate|smart) shutdown request|"postmaster\.pid" (already exists|is empty)|could not \w+ (old )?lock file "postmaster\.pid": No such file|bogus data in lock file|could not bind|pre-existing shared memory block/

/** Postgres ends with this text where it can't make its socket: on some file systems of containers. */
const NO_SOCKETS = 'could not create any Unix-domain sockets'

export interface EmbeddedOptions {
  /** made if missing; the cluster is in `postgres` below it */
  dataDir: string
  /** Postgres's settings, by name; they count for whoever starts it */
  settings?: Record<string, string>
  /** how long it may take until it answers, in ms; default 60 s (a recovery takes its time) */
  waitMs?: number
  /** whether others than servers need it: then it stays up when the last server stops */
  needed?: () => boolean
  /** gets a line when it ended under us, and when it is back */
  log?: Log
}

export interface Embedded {
  /** of our database, as superuser, with the password: never log it */
  url: string
  /** false: it ran already */
  started: boolean
  /** absolute: the copy of its programs that a start of ours would use */
  programs: string
  /** Resolves, with why, if it ended under us and can't be started again: nothing works without it. */
  lost: Promise<Error>
  /** Close your connections first. Stops Postgres if nobody else uses it; may be called again. */
  stop(): Promise<void>
}

/** Starts or joins it. Errors are for the operator, and never have the password in them. */
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
      // it may be the end of the connection alone: then this only joins again
      options.log?.warn({}, 'the connection to the embedded Postgres broke: it is started again if need be')
      user = (await bringUp(cluster, options, leaving.signal, postmaster)).user
      options.log?.info({}, 'the embedded Postgres is there again')
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
    // who needed it may have gone in this moment, and have seen that we were connected
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

/** Joins the one that runs, or starts it; `before`: clients use its port and socket, so both have to stay. Rejects when `signal` aborts. */
async function bringUp(
  cluster: Cluster,
  { settings = {}, waitMs = 60_000, log }: EmbeddedOptions,
  signal: AbortSignal,
  before?: Postmaster,
): Promise<{ user: UsageLock; postmaster: Postmaster; started: boolean }> {
  const until = Date.now() + waitMs
  let own: { child: ChildProcess; said(): string } | undefined
  let startSettings = settings
  const withdraw = () => own?.child.kill('SIGINT') // nobody else would stop it
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

/** Names the socket, if clients can use it. By either way the server has to prove that it knows the password. */
function urlOf({ password, socketFolder }: Cluster, { port, hasSocket }: Postmaster, database: string): string {
  const url = new URL(`postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`)
  if (hasSocket && socketFolder !== null) url.searchParams.set('host', socketFolder)
  url.searchParams.set('require_auth', 'scram-sha-256')
  return url.href
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined
}

/** That of the last start, if it is free: agents that still run, and other servers, know it. */
async function choosePort({ data }: Cluster): Promise<number> {
  const last = lastPort(data)
  return last === undefined ? freePort() : freePort(last).catch(() => freePort())
}

/** Rejects if `port` is taken; 0 is any. */
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
