/**
 * The request context that every verb gets, and `transaction()`, the only way to write (README.md).
 * Clock, ids and database are passed in, never imported as singletons (docs/architecture.md#rules).
 */
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts'
import type { Plan, StepKind } from '../../generated/prisma/enums.ts'
import type { Batch } from '../../platform/async/batcher.ts'
import type { InFlight } from '../../platform/async/in-flight.ts'
import type { Notifier } from '../../platform/async/notifier.ts'
import type { Overload } from '../../platform/async/overload.ts'
import { backoff, type RetryOptions, retry } from '../../platform/async/retry.ts'
import type { Log } from '../../platform/log/log.ts'
import { CHANGE_CHANNEL, type Changes } from '../concurrency/change-watch.ts'
import type { SlotPools } from '../concurrency/concurrency-limit.ts'
import type { WriteQueue } from '../concurrency/write-queue.ts'
import type { KeyRing } from '../crypto/keyring.ts'
import { databaseFailure } from '../errors/database-error.ts'
import { DomainError } from '../errors/errors.ts'
import { appendEvents, EVENT_CHANNEL, type NewEvent, type TransactionIdentity } from '../outbox/append.ts'
import { wasWritten } from '../outbox/commit-outcome.ts'
import { type AppendedEvent, logEvents } from '../outbox/event-lines.ts'
import type { EndedStep, Observer } from '../outbox/observer.ts'
import type { BuildSources } from '../ports/build-sources.ts'
import type { GitProvider } from '../ports/git-provider.ts'
import type { Login } from '../ports/login.ts'
import type { OAuthClient } from '../ports/oauth-client.ts'
import type { Registry } from '../ports/registry.ts'
import type { TarballStorage } from '../ports/tarball-storage.ts'
import type { Query } from '../sql/prepared-statement.ts'
import type { Explanation } from '../values/explanation.ts'
import type { Actor } from './access.ts'
import type { Credential, CredentialWatch } from './credential.ts'
import type { Guard, Idempotency } from './idempotency.ts'
import { prismaOf } from './transaction-client.ts'
import { Unit } from './unit-of-work.ts'

export type Db = PrismaClient
export type Sql = Prisma.TransactionClient

export type { Statement } from '../sql/prepared-statement.ts'

/** Of an open transaction. */
interface Connection {
  /** for what reads or locks: sent at once, in the order in which it is called */
  query: Query
  /** for what writes: sent when the transaction is known to have begun */
  write: Query
  /** Prisma in the same transaction */
  prisma(): Promise<Sql>
}

/** Commits when `work` has ended, rolls back when it throws. */
type Transact = <T>(work: (connection: Connection) => Promise<T>) => Promise<T>

/** A budget of each caller: `burst` at once, and as many a minute. */
export interface Reveals {
  /** `retryAfter`: seconds until the next is admitted */
  take(caller: string): { admitted: boolean; burst: number; retryAfterSeconds: number }
}

/** Settings that domain rules depend on. */
export interface DomainSettings {
  /** which sources are offered: `cloud` → gitprovider, `self_hosted` → external_container */
  deploymentModes: readonly ('cloud' | 'self_hosted')[]
  /** what serves deployments that name no listener */
  runtime: 'process' | 'kubernetes' | 'none'
  /** classes of deployments that name no listener */
  podClasses: readonly string[]
  /** how long a step may take once it was first taken, in minutes */
  deadlineMinutes: { PROVISION: number; BUILD: number; DEPLOY: number; TEARDOWN: number }
  /** how long a build that is left to builders may wait for one, in minutes */
  builderWaitMinutes: number
  /** folder of the `directory` integration */
  gitDirectory: string
  /** addresses for uploads that a deployment may have at once, neither used nor expired */
  uploadsPerDeployment: number
  /** how long a session lasts at most */
  sessionHours: number
  /** how long is kept what nobody needs for the work: lines of logs and events, in days; lines of each log of a revision */
  retention: { logDays: number; linesPerRevision: number; eventDays: number }
}

/** What the built-in worker of this process may begin now. */
export interface Admission {
  /** what a step of this kind has to wait for; null: it may begin */
  refusal(kind: StepKind): Explanation | null
  /** a step was handed out */
  admitted(kind: StepKind): void
  /** a step of the built-in worker has ended */
  ended(): void
}

/** The installation: what there is without a caller. Work of the system itself (leases, sweeps) needs no more. */
export interface Core {
  db: Db
  /** for hot reads, in no transaction */
  query: Query
  /** for transaction() alone */
  transact: Transact
  /** wakes who listens, on any server, to what was committed: `channel payload`. A hint, which may get lost */
  wake(notices: Iterable<string>): void
  /** renews leases: on connections of their own, which nothing else may use */
  renew<Row>(statement: Prisma.Sql): Promise<Row[]>
  /** does together what may share a transaction; absent: each by itself */
  gather?: Batch
  /** for writers of one deployment */
  deploymentQueue: WriteQueue
  /** for writers of one workspace, so that they leave connections to others */
  workspaceQueue: WriteQueue
  /** Idempotency-Keys of the requests that this process is at, each with its caller */
  keysInUse: Set<string>
  keyring: KeyRing
  settings: DomainSettings
  /** the database's clock (docs/architecture.md#rules) */
  clock: () => Date
  log: Log
  /** how clients reach this server, without a slash at the end */
  publicUrl: () => string
  /** null: none is configured, there are only `directory` integrations */
  gitProvider: GitProvider | null
  /** speaks to OAuth providers and MCP servers */
  oauth: OAuthClient
  /** the organization's own; null: there is none */
  login: Login | null
  /** calls at OAuth providers that must not be broken off, by what they concern */
  inFlight: InFlight
  tarballs: TarballStorage
  /** null: none is configured */
  registry: Registry | null
  /** what builders elsewhere fetch sources with; absent: every source is read without */
  sources?: BuildSources
  /** called at once when a key was revoked here, so that no cache of this server still accepts it */
  onKeyRevoked?: (keyId: string) => void
  /** told of each key whose name or owner has changed: this server forgets what it knew of it */
  onKeyRenamed?: (keyId: string) => void
  /** ends what outlives its first moment with its caller's credential; absent: nobody looks after it */
  credentials?: CredentialWatch
  /** limits streams and long polls; absent: no limit */
  slots?: SlotPools
  /** limits how many secrets one caller may have revealed; absent: no limit */
  reveals?: Reveals
  /** whether this process is overloaded; absent: nobody watches it */
  overload?: Overload
  /** absent: this process has no worker of its own, or may begin everything */
  admission?: Admission
  /** called with what this process does, for metrics */
  observer?: Observer
  /** what this server hears of changes; without it no call waits for them */
  changes?: Changes
  /** wakes who waits for work; without it nobody waits */
  notifier?: Notifier
  /** wakes who waits for an authorization or for a token's refresh; without it nobody waits */
  oauthNotifier?: Notifier
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
  /** what the caller has shown; absent: it is no call from outside */
  credential?: Credential
  requestId: string
  /** of the caller's Idempotency-Key; absent: none was sent */
  idempotency?: Idempotency
  /** of the write that is being done under it (once.ts) */
  guard?: Guard
  /** who asks: `gone` aborts when it has left before it had its answer; absent: unknown */
  client?: { readonly gone: AbortSignal }
  /** Says that from now on the call only waits, so that the next call of its key may be worked on. */
  yieldTurn?: () => void
}

/** An open transaction. Events said to it are appended, in order, as its last act before the commit. */
export interface Tx {
  /** Prisma in it. What is recorded is written first, and what is known of locked deployments is forgotten (unit-of-work.ts). */
  sql: Sql
  /** A statement in it, past Prisma: of deployments, revisions and steps it may only read. What is recorded is written first. */
  query: Query
  /** what is to be written */
  unit: Unit
  /** the time of the database's clock: for whatever is written */
  now(): Date
  /** A function says at the end what has come of what was recorded; null: nothing. */
  emit(event: NewEvent | (() => NewEvent | null)): void
  /** A step was closed: for whoever counts them. */
  ended(step: EndedStep): void
  /** holders of this scope (a listener's id, or null: the built-in worker, or `buildersOf`) who wait are woken after the commit */
  wakeWorkers(listenerId: string | null): void
  /** something shows in a deployment, or in this revision of it; needless where an event of the transaction tells of it */
  hint(deploymentId: string, revisionId?: string): void
}

/** NOTIFY channel of OAuth. Payload: the id of an authorization or a token that has changed. */
export const OAUTH_CHANNEL = 'pilothouse_oauth'

/** NOTIFY channel of workers: holders may have something new to do. Payload: the listener's id, nothing for the built-in worker, or `buildersOf`. */
export const WORK_CHANNEL = 'pilothouse_work'

const BUILDERS = 'builders:'

/** In place of a listener's id: those who build for all of an organization, or for one workspace. */
export const buildersOf = (organizationOrWorkspaceId: string) => `${BUILDERS}${organizationOrWorkspaceId}`

export const isBuilders = (listenerId: string | null): boolean => listenerId?.startsWith(BUILDERS) ?? false

export interface TransactionOptions {
  /** the deployment whose row `work` locks first: its writers queue before they take a connection */
  deployment?: string
}

/**
 * Runs `work` in one transaction. Everything it emitted is appended to the event logs just before the commit,
 * so that sequence order is commit order (docs/architecture.md#rules). `work` may run more than once: after a deadlock or a
 * serialization failure. Throws UNAVAILABLE when nothing was written, OUTCOME_UNKNOWN when that is uncertain.
 */
export function transaction<T>(
  core: Core & Partial<Pick<RequestContext, 'workspace' | 'guard'>>,
  work: (tx: Tx) => Promise<T>,
  { deployment }: TransactionOptions = {},
): Promise<T> {
  const run = () => retry(() => attempt(core, work, core.guard), AGAIN)
  const workspace = core.workspace?.id
  const write = workspace === undefined ? run : () => core.workspaceQueue.run(workspace, run)
  return deployment === undefined ? write() : core.deploymentQueue.run(deployment, write)
}

/** Two transactions that were in each other's way shall not meet again: the pauses are random, and at first 20 ms on average. */
const AGAIN: RetryOptions = {
  tries: 5,
  when: (error) => databaseFailure(error) === 'conflict',
  pause: (retries) => backoff(retries, 40, 1000, 0),
}

async function attempt<T>(core: Core, work: (tx: Tx) => Promise<T>, guard?: Guard): Promise<T> {
  let done: { result: T; appended: (AppendedEvent & TransactionIdentity)[]; ended: EndedStep[] } | null = null
  /** channels with their payloads, for after the commit */
  const wakes = new Set<string>()
  const open = async (connection: Connection) => {
    const unit = new Unit(connection.write)
    const query: Query = async (statement, values) => {
      await unit.flush()
      return connection.query(statement, values)
    }
    const sql = prismaOf(async () => {
      await unit.flush()
      unit.forget()
      return connection.prisma()
    })
    const said: (NewEvent | (() => NewEvent | null))[] = []
    const ended: EndedStep[] = []
    const hints: { deploymentId: string; revisionId: string | undefined }[] = []
    await guard?.open(query)
    const result = await work({
      sql,
      query,
      unit,
      now: core.clock,
      emit: (event) => said.push(event),
      ended: (step) => ended.push(step),
      wakeWorkers: (listenerId) => wakes.add(`${WORK_CHANNEL} ${listenerId ?? ''}`),
      hint: (deploymentId, revisionId) => hints.push({ deploymentId, revisionId }),
    })
    await unit.flush()
    const events = said.flatMap((event) => (typeof event === 'function' ? (event() ?? []) : event))
    const untold = new Set<string>()
    for (const { deploymentId, revisionId } of hints) {
      const isTold = (event: NewEvent) =>
        event.deploymentId === deploymentId && (revisionId === undefined || event.revisionId === revisionId)
      if (!events.some(isTold)) untold.add(deploymentId)
    }
    await guard?.close(connection.write)
    for (const { workspaceId } of events) wakes.add(`${EVENT_CHANNEL} ${workspaceId}`)
    // nobody looks for these by himself: they are notified with the commit
    const notices = [...untold].map((id) => `${CHANGE_CHANNEL} ${id}`)
    done = { result, appended: await appendEvents(connection.write, events, notices), ended }
    return done
  }
  const { result, appended, ended } = await core.transact(open).catch(async (error) => {
    if (done && databaseFailure(error) === 'lost' && (await wasCommitted(core, done.appended.at(-1), error, guard)))
      return done
    throw error
  })
  core.wake(wakes)
  guard?.committed()
  logEvents(core.log, appended)
  core.observer?.appended(appended)
  for (const step of ended) core.observer?.stepEnded(step)
  return result
}

/** The connection broke at the COMMIT: it may have been carried out. Throws OUTCOME_UNKNOWN when that is uncertain. */
async function wasCommitted(
  core: Core,
  last: TransactionIdentity | undefined,
  cause: unknown,
  guard?: Guard,
): Promise<boolean> {
  const written = last ? await wasWritten(core.db, last) : null
  if (written !== null) return written
  throw new DomainError(
    'OUTCOME_UNKNOWN',
    'The connection to the database broke while this was being written, so it may have been written or not: ' +
      (guard ? 'repeat it with the same Idempotency-Key.' : 'look before you repeat it.'),
    { cause },
  )
}
