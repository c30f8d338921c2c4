/**
 * Holds the databases of deployments to their bounds: connections, temporary files and size. All of them are looked at by
 * one statement from time to time, and what is other than it should be is set, so that nothing is written at rest.
 *
 * Over its size a database can only be read: that is a setting of its sessions, which one may take back to remove data.
 * One that keeps growing by that can't be connected to any more, which nothing of the agent's can take back.
 */
import type { EffectiveSpec, Progress } from '../../../../domain/protocol/protocol.ts'
import { databaseName } from './database.ts'
import type { DatabaseAdmin, Query } from './database-admin.ts'

export interface DatabaseLimitSettings {
  /** of one deployment at most; null: as many as its db_max_connections */
  maxConnections: number | null
  /** MB of 10^6 bytes; null: no limit */
  maxMb: number | null
}

const CHECK_INTERVAL_MS = 60_000
const FIRST_CHECK_MS = 1000
/** MB of temporary files that one session may have */
const TEMPORARY_FILES_MB = 1000
/** so many times of what it had when it could only be read any more, and it is closed */
const CLOSE_GROWTH_FACTOR = 1.25

const READ_LIMITS = `
  SELECT d.datname AS name, pg_database_size(d.oid)::float8 AS bytes, r.rolconnlimit AS connections, r.rolcanlogin AS open,
         coalesce((SELECT setconfig FROM pg_db_role_setting WHERE setrole = r.oid AND setdatabase = 0), '{}') AS role,
         coalesce((SELECT setconfig FROM pg_db_role_setting WHERE setrole = r.oid AND setdatabase = d.oid), '{}') AS own
    FROM pg_database d JOIN pg_roles r ON r.rolname = d.datname
   WHERE d.datname = ANY($1)`

interface DatabaseState {
  name: string
  bytes: number
  connections: number
  open: boolean
  role: string[]
  own: string[]
}

interface LimitedDatabase {
  connections: number
  problem: Progress | null
  /** bytes, when it was first seen over its size; null: it is within */
  overBytes: number | null
}

export class DatabaseLimits {
  readonly #admin: DatabaseAdmin
  readonly #settings: DatabaseLimitSettings
  readonly #firstMs: number
  readonly #databases = new Map<string, LimitedDatabase>()
  readonly #closing = new AbortController()
  #timer: NodeJS.Timeout | null = null
  #due = 0
  /** null: not tried yet */
  #mayLimitTemporary: boolean | null = null

  /** `firstMs`: until the first look at a deployment that is new here. */
  constructor(admin: DatabaseAdmin, settings: DatabaseLimitSettings, firstMs = FIRST_CHECK_MS) {
    this.#admin = admin
    this.#settings = settings
    this.#firstMs = firstMs
  }

  /** From now on the database of this deployment is held to its bounds, with this spec. */
  watch(deploymentId: string, { db_max_connections }: Pick<EffectiveSpec, 'db_max_connections'>): void {
    const connections = Math.min(db_max_connections, this.#settings.maxConnections ?? Number.POSITIVE_INFINITY)
    const before = this.#databases.get(deploymentId)
    if (before?.connections === connections) return
    this.#databases.set(deploymentId, { problem: null, overBytes: null, ...before, connections })
    this.#checkIn(this.#firstMs)
  }

  /** It is somebody else's from now on, or nobody's. */
  unwatch(deploymentId: string): void {
    this.#databases.delete(deploymentId)
  }

  /** What is wrong with its database, for its health; null: nothing. */
  problem(deploymentId: string): Progress | null {
    return this.#databases.get(deploymentId)?.problem ?? null
  }

  close(): void {
    this.#closing.abort(new Error('The databases are not looked at any more'))
    if (this.#timer) clearTimeout(this.#timer)
  }

  /** Looks at all of them, and sets what is other than it should be. Rejects as `Admin.run` does. */
  async check(): Promise<void> {
    const { signal } = this.#closing
    const byName = new Map([...this.#databases].map(([id, bounded]) => [databaseName(id), bounded]))
    if (byName.size === 0) return
    const failed: unknown[] = []
    await this.#admin.run(signal, async (query) => {
      for (const row of await query(READ_LIMITS, [[...byName.keys()]])) {
        const found = row as unknown as DatabaseState
        // what can't be set for one of them is set for the others all the same
        await this.#enforce(query, found, byName.get(found.name)!).catch((error) => failed.push(error))
      }
    })
    if (failed.length > 0) throw failed[0]
  }

  #checkIn(ms: number): void {
    const due = performance.now() + ms
    if (this.#closing.signal.aborted || (this.#timer && this.#due <= due)) return
    if (this.#timer) clearTimeout(this.#timer)
    this.#due = due
    this.#timer = setTimeout(() => {
      // a Postgres that is away is somebody else's to tell; what has to be set is set when it is back
      void this.check()
        .catch(() => undefined)
        .finally(() => {
          this.#timer = null
          if (this.#databases.size > 0) this.#checkIn(CHECK_INTERVAL_MS)
        })
    }, ms)
    this.#timer.unref()
  }

  async #enforce(query: Query, found: DatabaseState, bounded: LimitedDatabase): Promise<void> {
    const { name, bytes } = found
    if (found.connections !== bounded.connections)
      await query(`ALTER ROLE ${name} CONNECTION LIMIT ${bounded.connections}`)
    await this.#limitTemporary(query, found)
    const most = this.#settings.maxMb === null ? Number.POSITIVE_INFINITY : this.#settings.maxMb * 1e6
    const over = bytes > most
    bounded.overBytes = over ? (bounded.overBytes ?? bytes) : null
    const closed = over && (!found.open || bytes > bounded.overBytes! * CLOSE_GROWTH_FACTOR)
    const readOnly = found.own.includes('default_transaction_read_only=on')
    if (over !== readOnly)
      await query(
        `ALTER ROLE ${name} IN DATABASE ${name} ${over ? 'SET default_transaction_read_only = on' : 'RESET default_transaction_read_only'}`,
      )
    if (closed === found.open) await query(`ALTER ROLE ${name} ${closed ? 'NOLOGIN' : 'LOGIN'}`)
    // sessions keep what they began with
    if (over !== readOnly || (closed && found.open))
      await query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [name])
    bounded.problem = over ? tooLarge(bytes, this.#settings.maxMb!, closed) : null
  }

  /** Only a superuser may set that, or who was granted it. */
  async #limitTemporary(query: Query, { name, role }: DatabaseState): Promise<void> {
    const wanted = `${Math.min(TEMPORARY_FILES_MB, this.#settings.maxMb ?? TEMPORARY_FILES_MB)}MB`
    if (role.includes(`temp_file_limit=${wanted}`)) return
    this.#mayLimitTemporary ??= (await query("SELECT has_parameter_privilege('temp_file_limit', 'SET') AS may"))[0]!
      .may as boolean
    if (this.#mayLimitTemporary) await query(`ALTER ROLE ${name} SET temp_file_limit = '${wanted}'`)
  }
}

function tooLarge(bytes: number, megabytes: number, closed: boolean): Progress {
  const mb = (value: number) => `${Math.ceil(value).toLocaleString('en-US')} MB`
  const what = `Its database holds ${mb(bytes / 1e6)}, more than its ${mb(megabytes)} (APP_DATABASE_MB)`
  return {
    reason: 'DATABASE_LIMIT',
    message: closed
      ? `${what}, and grew when it could only be read: nobody can connect to it until the operator makes it smaller or raises the bound.`
      : `${what}: it can only be read until it is smaller, or the operator raises the bound. To remove data, a session has to SET default_transaction_read_only = off first.`,
  }
}
