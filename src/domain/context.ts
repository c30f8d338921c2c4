/**
 * What every domain verb is given: who calls, for which workspace, and the database, clock and settings to
 * work with (design rule 9: passed in, never imported as singletons); and `transaction()`, the only way to write.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Prisma, PrismaClient } from '../generated/prisma/client.ts'
import type { Plan } from '../generated/prisma/enums.ts'
import type { Actor } from './access.ts'
import { databaseFailure } from './database-failure.ts'
import { DomainError } from './errors.ts'
import { appendEvents, type Mark, type NewEvent } from './events/append.ts'
import { type Happening, tellJournal } from './events/journal.ts'
import type { GitProvider } from './integrations/provider.ts'
import type { Lines } from './line.ts'
import type { News } from './news.ts'
import type { EndedStep, Observer } from './observer.ts'
import { wasWritten } from './outcome.ts'
import type { OAuthClient } from './providers/client.ts'
import type { Registry } from './registry/registry.ts'
import type { Rooms } from './room.ts'
import type { KeyRing } from './secrets/keyring.ts'
import type { UnderWay } from './under-way.ts'
import type { TarballStorage } from './uploads/storage.ts'

export type Db = PrismaClient
export type Sql = Prisma.TransactionClient

/** The little of pino that the domain uses. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Settings that domain rules depend on. */
export interface DomainSettings {
  /** which sources are offered: `cloud` → gitprovider, `self_hosted` → external_container */
  deploymentModes: readonly ('cloud' | 'self_hosted')[]
  /** what serves deployments that name no listener */
  runtime: 'process' | 'kubernetes' | 'none'
  /** how long a step may take once it was first taken, in minutes */
  deadlineMinutes: { PROVISION: number; BUILD: number; DEPLOY: number; TEARDOWN: number }
  /** folder of the `directory` integration */
  gitDirectory: string
  /** addresses for uploads that a deployment may have at once, neither used nor expired */
  uploadsPerDeployment: number
}

/** The installation: what there is without a caller. Work of the system itself (leases, sweeps) needs no more. */
export interface Core {
  db: Db
  /** renews leases: on connections of their own, which nothing else may use */
  renew<Row>(statement: Prisma.Sql): Promise<Row[]>
  /** those who wait to write to one deployment */
  writers: Lines
  /** those who write to one workspace: they share some of the connections */
  writersOfWorkspace: Lines
  keyring: KeyRing
  settings: DomainSettings
  /** the database's clock (design rule 9) */
  clock: () => Date
  log: Log
  /** how clients reach this server, without a slash at the end */
  publicUrl: () => string
  /** null: none is configured, there are only `directory` integrations */
  gitProvider: GitProvider | null
  /** speaks to OAuth providers and MCP servers */
  oauth: OAuthClient
  /** calls at OAuth providers that have to be seen through, by what they concern */
  underWay: UnderWay
  tarballs: TarballStorage
  /** null: none is configured */
  registry: Registry | null
  /** told at once when a key was revoked here, so that no cache of this server still takes it */
  onKeyRevoked?: (keyId: string) => void
  /** for what lasts; without it there is room for everything */
  rooms?: Rooms
  /** told what this process does, for whoever counts it */
  observer?: Observer
  /** wakes who waits for work; without it nobody waits */
  news?: News
  /** wakes who waits for an authorization or for a token's refresh; without it nobody waits */
  oauthNews?: News
}

/** One workspace of one organization: the tenant of a call. */
export interface Tenant {
  id: string
  organizationId: string
  plan: Plan
}

/** A call by somebody, in a workspace. */
export interface RequestContext extends Core {
  actor: Actor
  workspace: Tenant
  requestId: string
  /** aborts when the client is gone before it had its answer; absent: nobody can tell */
  signal?: AbortSignal
  /** From now on the call only waits: the next one of its key may be worked on. */
  rest?: () => void
}

/** An open transaction. Events said to it are appended, in order, as its last act before the commit. */
export interface Tx {
  sql: Sql
  /** the time of the database's clock: for whatever is written */
  now(): Date
  emit(event: NewEvent): void
  /** A step was closed: for whoever counts them. */
  ended(step: EndedStep): void
  /** holders of this scope (a listener's id, or null: the built-in worker) who wait for news are woken at the commit */
  wakeWorkers(listenerId: string | null): void
}

/** NOTIFY channel of OAuth. Payload: the id of an authorization or a token that has changed. */
export const OAUTH_CHANNEL = 'pilothouse_oauth'

/** NOTIFY channel of workers: there may be news for holders. Payload: the listener's id, or nothing for the built-in worker. */
export const WORK_CHANNEL = 'pilothouse_work'

export interface TransactionOptions {
  /** the deployment whose row `work` locks first: its writers stand in line before they take a connection */
  deployment?: string
}

/**
 * Runs `work` in one transaction. Everything it emitted is appended to the event logs just before the commit,
 * so that sequence order is commit order (design rule 5). `work` may run more than once: after a deadlock or a
 * serialization failure. Throws UNAVAILABLE when nothing was written, OUTCOME_UNKNOWN when that can't be told.
 */
export function transaction<T>(
  core: Core & Partial<Pick<RequestContext, 'workspace'>>,
  work: (tx: Tx) => Promise<T>,
  { deployment }: TransactionOptions = {},
): Promise<T> {
  const run = () => again(() => attempt(core, work))
  const workspace = core.workspace?.id
  const write = workspace === undefined ? run : () => core.writersOfWorkspace.inLine(workspace, run)
  return deployment === undefined ? write() : core.writers.inLine(deployment, write)
}

/** ms before the second try, on average; twice as long before each further one */
const PAUSE = 20
const TRIES = 5

/** Two transactions that were in each other's way shall not meet again: the pauses are random. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (databaseFailure(error) !== 'conflict' || tries === TRIES) throw error
      await delay(PAUSE * 2 ** tries * Math.random())
    }
  }
}

async function attempt<T>(core: Core, work: (tx: Tx) => Promise<T>): Promise<T> {
  let done: { result: T; happened: (Happening & Mark)[]; ended: EndedStep[] } | null = null
  const open = async (sql: Sql) => {
    const events: NewEvent[] = []
    const ended: EndedStep[] = []
    const woken = new Set<string>()
    const result = await work({
      sql,
      now: core.clock,
      emit: (event) => events.push(event),
      ended: (step) => ended.push(step),
      wakeWorkers: (listenerId) => woken.add(listenerId ?? ''),
    })
    if (woken.size > 0)
      await sql.$executeRaw`SELECT pg_notify(${WORK_CHANNEL}, scope) FROM unnest(${[...woken]}::text[]) AS scope`
    done = { result, happened: events.length > 0 ? await appendEvents(sql, events) : [], ended }
    return done
  }
  const { result, happened, ended } = await core.db.$transaction(open).catch(async (error) => {
    if (done && databaseFailure(error) === 'lost' && (await wasCommitted(core, done.happened.at(-1), error)))
      return done
    throw error
  })
  tellJournal(core.log, happened)
  core.observer?.happened(happened)
  for (const step of ended) core.observer?.stepEnded(step)
  return result
}

/** The connection broke at the COMMIT: it may have been carried out. Throws OUTCOME_UNKNOWN when that can't be told. */
async function wasCommitted(core: Core, mark: Mark | undefined, cause: unknown): Promise<boolean> {
  const written = mark ? await wasWritten(core.db, mark) : null
  if (written !== null) return written
  throw new DomainError(
    'OUTCOME_UNKNOWN',
    'The connection to the database broke while this was being written, so it may have been written or not: look before you repeat it.',
    { cause },
  )
}
