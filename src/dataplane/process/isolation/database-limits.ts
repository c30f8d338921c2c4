/**
 * Enforces connection, temporary file and size limits on deployments' databases. One statement checks all of them every minute;
 * only values that differ are written. README.md explains the reaction to a full database.
 */
import type { EffectiveSpec, Progress } from '../../../domain/protocol/protocol.ts'
import { type DatabaseAdmin, databaseName, type Query } from './database.ts'

export interface DatabaseLimitSettings {
  /** most connections of one deployment; null: only its `db_max_connections` counts */
  maxConnections: number | null
  /** size in MB of 10^6 bytes; null: no limit */
  maxMb: number | null
}

const CHECK_INTERVAL_MS = 60_000
const FIRST_CHECK_MS = 1000
const TEMPORARY_FILES_MB = 1000
/** A read-only database is closed when it grows to this multiple of its size when the limit was first exceeded. */
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
  /** size in bytes when it was first seen over the limit; null: within the limit */
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
  /** whether this role may set `temp_file_limit`; null: not checked yet */
  #mayLimitTemporary: boolean | null = null

  constructor(admin: DatabaseAdmin, settings: DatabaseLimitSettings, firstMs = FIRST_CHECK_MS) {
    this.#admin = admin
    this.#settings = settings
    this.#firstMs = firstMs
  }

  watch(deploymentId: string, { db_max_connections }: Pick<EffectiveSpec, 'db_max_connections'>): void {
    const connections = Math.min(db_max_connections, this.#settings.maxConnections ?? Number.POSITIVE_INFINITY)
    const before = this.#databases.get(deploymentId)
    if (before?.connections === connections) return
    this.#databases.set(deploymentId, { problem: null, overBytes: null, ...before, connections })
    this.#checkIn(this.#firstMs)
  }

  /** Stops: another server runs the deployment now, or it is gone. */
  unwatch(deploymentId: string): void {
    this.#databases.delete(deploymentId)
  }

  problem(deploymentId: string): Progress | null {
    return this.#databases.get(deploymentId)?.problem ?? null
  }

  close(): void {
    this.#closing.abort(new Error('Database limits are closed'))
    if (this.#timer) clearTimeout(this.#timer)
  }

  /** Checks all watched databases and sets what differs. Rejects like `DatabaseAdmin.run`. */
  async check(): Promise<void> {
    const { signal } = this.#closing
    const byName = new Map([...this.#databases].map(([id, bounded]) => [databaseName(id), bounded]))
    if (byName.size === 0) return
    const failed: unknown[] = []
    await this.#admin.run(signal, async (query) => {
      for (const row of await query(READ_LIMITS, [[...byName.keys()]])) {
        const found = row as unknown as DatabaseState
        // an error on one database must not skip the others
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
      // Other parts report an unreachable Postgres. The next check sets what is missing.
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
    // open sessions keep their old settings, so they are ended
    if (over !== readOnly || (closed && found.open))
      await query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [name])
    bounded.problem = over ? tooLarge(bytes, this.#settings.maxMb!, closed) : null
  }

  /** Postgres lets only superusers set this, and roles that were granted it. */
  async #limitTemporary(query: Query, { name, role }: DatabaseState): Promise<void> {
    const limit = `${Math.min(TEMPORARY_FILES_MB, this.#settings.maxMb ?? TEMPORARY_FILES_MB)}MB`
    if (role.includes(`temp_file_limit=${limit}`)) return
    this.#mayLimitTemporary ??= (await query("SELECT has_parameter_privilege('temp_file_limit', 'SET') AS may"))[0]!
      .may as boolean
    if (this.#mayLimitTemporary) await query(`ALTER ROLE ${name} SET temp_file_limit = '${limit}'`)
  }
}

function tooLarge(bytes: number, megabytes: number, closed: boolean): Progress {
  const mb = (value: number) => `${Math.ceil(value).toLocaleString('en-US')} MB`
  const size = `Its database holds ${mb(bytes / 1e6)}, more than its ${mb(megabytes)} (APP_DATABASE_MB)`
  return {
    reason: 'DATABASE_LIMIT',
    message: closed
      ? `${size}, and it grew while it was read-only: connections are refused until the operator shrinks it or raises the limit.`
      : `${size}: it is read-only until it is smaller or the operator raises the limit. To delete data, run SET default_transaction_read_only = off in the session first.`,
  }
}
