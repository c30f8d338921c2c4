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
import { type EndedSpan, inSpan, type RequestTrace, type Span, type Tracing } from '../../platform/tracing/tracing.ts'
import type { ChangeSource } from '../concurrency/change-watch.ts'
import type { ConcurrencyLimits } from '../concurrency/concurrency-limit.ts'
import type { SearchTurns } from '../concurrency/search-turns.ts'
import type { WriteQueue } from '../concurrency/write-queue.ts'
import type { KeyRing } from '../crypto/keyring.ts'
import { databaseFailure } from '../errors/database-error.ts'
import { DomainError } from '../errors/errors.ts'
import { appendEvents, EVENT_CHANNEL, type NewEvent, type TransactionIdentity } from '../outbox/append.ts'
import { wasWritten } from '../outbox/commit-outcome.ts'
import { type AppendedEvent, type EndedStep, logEvents, type Observer } from '../outbox/event-lines.ts'
import type { Query, Statement } from '../paging/statements.ts'
import type { GitProvider } from '../ports/git-provider.ts'
import type { Login } from '../ports/login.ts'
import type { OAuthClient } from '../ports/oauth-client.ts'
import type { Registry } from '../ports/registry.ts'
import type { BuildSources, TarballStorage } from '../ports/tarball-storage.ts'
import type { WebhookSender } from '../ports/webhook-sender.ts'
import type { Explanation } from '../values/explanation.ts'
import type { Actor, Credential, CredentialWatch } from './access.ts'
import { prismaOf } from './flush.ts'
import type { Guard, Idempotency } from './idempotency.ts'
import { UnitOfWork } from './unit-of-work.ts'

export type Db = PrismaClient
export type Sql = Prisma.TransactionClient

export type { Statement } from '../paging/statements.ts'

interface Connection {
  /** reads and locks: sent immediately, in call order */
  query: Query
  /** writes: sent after the transaction has begun */
  write: Query
  prisma(): Promise<Sql>
}

type Transact = <T>(work: (connection: Connection) => Promise<T>) => Promise<T>

/** A budget per caller: a burst of `burst`, refilled at `burst` per minute. */
export interface Reveals {
  /** `retryAfter`: seconds until the next is admitted */
  take(caller: string): { admitted: boolean; burst: number; retryAfterSeconds: number }
}

/** Settings that domain rules depend on. */
export interface DomainSettings {
  /** offered sources: `cloud` → gitprovider, `self_hosted` → external_container */
  deploymentModes: readonly ('cloud' | 'self_hosted')[]
  /** runtime of deployments without a listener */
  runtime: 'process' | 'kubernetes' | 'none'
  /** default of idle_minutes of deployments without a listener; null: their agents never sleep */
  idleMinutes: number | null
  /** allowed pod classes of deployments without a listener */
  podClasses: readonly string[]
  /** the door of a cluster: the listeners whose deployments it serves, and whether custom URLs lead to it; null: there is none */
  clusterDoor: { listeners: readonly string[]; customUrls: boolean } | null
  /** hosts of agents by their names, with {name}; null: APPS_URL is not set */
  agentHosts: string | null
  /** minutes that a step may take after it was first taken */
  deadlineMinutes: { PROVISION: number; BUILD: number; DEPLOY: number; TEARDOWN: number }
  /** minutes that an offered build may wait for a builder */
  builderWaitMinutes: number
  /** folder of the `directory` integration */
  gitDirectory: string
  /** unused, unexpired upload URLs that a deployment may have */
  uploadsPerDeployment: number
  /** maximum lifetime of a session */
  sessionHours: number
  /** limits of kept history: days of log lines and of events, lines per log of a revision */
  retention: { logDays: number; linesPerRevision: number; eventDays: number }
  /** how long samples of 10 s, of a minute and of 10 minutes are kept */
  metrics: { fineHours: number; minuteDays: number; days: number }
}

/** Decides which steps the built-in worker of this process may begin. */
export interface Admission {
  /** why a step of this kind must wait; null: it may begin */
  refusal(kind: StepKind): Explanation | null
  admitted(kind: StepKind): void
  ended(): void
}

/** What a read needs, without a caller. */
export interface ReadCore {
  db: Db
  /** for frequent reads outside of a transaction */
  query: Query
  keyring: KeyRing
  settings: DomainSettings
  /** the database's clock (docs/architecture.md#rules) */
  clock: () => Date
  log: Log
  /** absent: no collector is set */
  tracing?: Tracing | undefined
  /** base URL of this server for clients, without a trailing slash */
  publicUrl: () => string
  /** turns of searches in logs; absent: no limit */
  searches?: SearchTurns
}

/** What a write needs: `transaction()`, and who hears of the commit. */
export interface WriteCore extends ReadCore {
  /** for transaction() alone */
  transact: Transact
  /** sends NOTIFY to all servers after a commit: `channel payload`. A hint, which may get lost */
  wake(notices: Iterable<string>): void
  /** adds committed changes of deployments to the change feed soon; absent: another server or the next poll does */
  announce?(): void
  /** batches work into shared transactions; absent: no batching */
  gather?: Batch
  deploymentQueue: WriteQueue
  /** for writers of one workspace, so they leave connections to other workspaces */
  workspaceQueue: WriteQueue
  /** Idempotency-Keys of the requests in progress in this process, each with its caller */
  keysInUse: Set<string>
  observer?: Observer
  /** called immediately after a key was revoked here, so no cache of this server accepts it */
  onKeyRevoked?: (keyId: string) => void
  /** called with a key whose name or owner changed, so this server drops it from its caches */
  onKeyRenamed?: (keyId: string) => void
}

/** The whole installation without a caller: as background jobs and calls that wait need it. */
export interface Core extends WriteCore {
  /** renews leases, on connections that are reserved for this */
  renew<Row>(statement: Prisma.Sql): Promise<Row[]>
  /** null: not configured, only `directory` integrations exist */
  gitProvider: GitProvider | null
  oauth: OAuthClient
  webhooks: WebhookSender
  /** the organization's login; null: not configured */
  login: Login | null
  /** requests to OAuth providers that must not be aborted, by subject */
  inFlight: InFlight
  tarballs: TarballStorage
  /** null: not configured */
  registry: Registry | null
  /** credentials that remote builders fetch sources with; absent: no source needs any */
  sources?: BuildSources
  /** ends streams and long polls when their caller's credential ends; absent: not watched */
  credentials?: CredentialWatch
  /** limits streams and long polls; absent: no limit */
  slots?: ConcurrencyLimits
  /** limits how many secrets a caller may reveal; absent: no limit */
  reveals?: Reveals
  /** whether this process is overloaded; absent: not measured */
  overload?: Overload
  /** absent: this process has no worker, or its worker may begin every step */
  admission?: Admission
  /** delivers changes to long polls; absent: no call waits */
  changes?: ChangeSource
  /** wakes long polls of workers, and calls that wait for an authorization or a token's refresh; absent: no call waits */
  notifier?: Notifier
}

export interface Tenant {
  id: string
  organizationId: string
  plan: Plan
}

/** The caller of a verb. */
export interface Caller {
  actor: Actor
  workspace: Tenant
  /** the presented credential; absent: an internal call */
  credential?: Credential
  requestId: string
  /** absent: no collector is set, or the call is part of no trace */
  trace?: RequestTrace | undefined
  /** state of the caller's Idempotency-Key; absent: none was sent */
  idempotency?: Idempotency
  /** guard of the current write with that key (once.ts) */
  guard?: Guard
  /** the client: `gone` aborts when it disconnects before the answer; absent: unknown */
  client?: { readonly gone: AbortSignal }
  /** Says that the call only waits from now on, so the next call of its key may run. */
  yieldTurn?: () => void
}

/** What a verb gets that only reads. */
export interface ReadContext extends ReadCore, Caller {}

/** What a verb gets that writes. */
export interface WriteContext extends WriteCore, Caller {}

/** What a verb gets that waits, or reaches another system than the database. */
export interface RequestContext extends Core, Caller {}

/** An open transaction. Its events are appended in order, as its last statement before the commit. */
export interface Tx {
  /** Prisma in the transaction. A call flushes the unit of work and clears what is known of locked deployments. */
  sql: Sql
  /** SQL in the transaction. A call flushes the unit of work. It may only read deployments, revisions and steps. */
  query: Query
  unit: UnitOfWork
  /** time of the database's clock, for written rows */
  now(): Date
  /** A function is called at the end of the transaction and returns the event, or null for none. */
  emit(event: NewEvent | (() => NewEvent | null)): void
  ended(step: EndedStep): void
  /** exports a span after the commit */
  traced(span: EndedSpan): void
  /** wakes waiting workers of this scope after the commit: a listener's id, null for the built-in worker, or `buildersOf` */
  wakeWorkers(listenerId: string | null): void
}

/** NOTIFY channel of OAuth. Payload: the id of an authorization or a token that has changed. */
export const OAUTH_CHANNEL = 'pilothouse_oauth'

/** NOTIFY channel of workers: new work may exist. Payload: the listener's id, empty for the built-in worker, or `buildersOf`. */
export const WORK_CHANNEL = 'pilothouse_work'

const BUILDERS = 'builders:'

/** Scope of the builders of an organization or a workspace, in place of a listener's id. */
export const buildersOf = (organizationOrWorkspaceId: string) => `${BUILDERS}${organizationOrWorkspaceId}`

export const isBuilders = (listenerId: string | null): boolean => listenerId?.startsWith(BUILDERS) ?? false

export interface TransactionOptions {
  /** the deployment that `work` locks first; its writers queue before they take a connection */
  deployment?: string
}

/**
 * Runs `work` in one transaction. Its events are appended just before the commit, so sequence order is commit order.
 * `work` runs again after a deadlock or a serialization failure. Throws UNAVAILABLE if nothing was written, and
 * OUTCOME_UNKNOWN if the outcome is uncertain.
 */
export function transaction<T>(
  core: WriteCore & Partial<Pick<Caller, 'workspace' | 'guard' | 'trace'>>,
  work: (tx: Tx) => Promise<T>,
  { deployment }: TransactionOptions = {},
): Promise<T> {
  const run = () => retry(() => attempt(core, work, core.guard), RETRY_OPTIONS)
  const workspace = core.workspace?.id
  const write = workspace === undefined ? run : () => core.workspaceQueue.run(workspace, run)
  return deployment === undefined ? write() : core.deploymentQueue.run(deployment, write)
}

/** Random pauses keep two conflicting transactions from meeting again. The first pause is 20 ms on average. */
const RETRY_OPTIONS: RetryOptions = {
  tries: 5,
  when: (error) => databaseFailure(error) === 'conflict',
  pause: (retries) => backoff(retries, 40, 1000, 0),
}

function attempt<T>(
  core: WriteCore & Pick<Partial<Caller>, 'trace'>,
  work: (tx: Tx) => Promise<T>,
  guard?: Guard,
): Promise<T> {
  const span = core.trace?.span.child('transaction')
  // a span costs a hundredth of a write, so statements have one only if a caller looks at the trace
  return inSpan(span, () => attemptIn(core.trace?.isCallers ? span : undefined, core, work, guard))
}

/** Each statement is a span below `span`. */
function traced(send: Query, span: Span | undefined): Query {
  if (!span) return send
  return <Row>(statement: Statement, values: readonly unknown[]) =>
    inSpan(span.child(statement.name || 'statement', STATEMENT), () => send<Row>(statement, values))
}

const STATEMENT = { kind: 'client', attributes: { 'db.system.name': 'postgresql' } } as const

/** `span`: has a span below it for each statement. */
async function attemptIn<T>(
  span: Span | undefined,
  core: WriteCore,
  work: (tx: Tx) => Promise<T>,
  guard?: Guard,
): Promise<T> {
  let done: { result: T; appended: (AppendedEvent & TransactionIdentity)[]; ended: EndedStep[] } | null = null
  /** channels with payloads, sent after the commit */
  const wakes = new Set<string>()
  const spans: EndedSpan[] = []
  const open = async (connection: Connection) => {
    const write = traced(connection.write, span)
    const read = traced(connection.query, span)
    const unit = new UnitOfWork(write)
    const query: Query = async (statement, values) => {
      await unit.flush()
      return read(statement, values)
    }
    const sql = prismaOf(async () => {
      await unit.flush()
      unit.forget()
      return connection.prisma()
    })
    const said: (NewEvent | (() => NewEvent | null))[] = []
    const ended: EndedStep[] = []
    await guard?.open(query)
    const result = await work({
      sql,
      query,
      unit,
      now: core.clock,
      emit: (event) => said.push(event),
      ended: (step) => ended.push(step),
      traced: (one) => spans.push(one),
      wakeWorkers: (listenerId) => wakes.add(`${WORK_CHANNEL} ${listenerId ?? ''}`),
    })
    await unit.flush()
    const events = said.flatMap((event) => (typeof event === 'function' ? (event() ?? []) : event))
    await guard?.close(write)
    for (const { workspaceId } of events) wakes.add(`${EVENT_CHANNEL} ${workspaceId}`)
    done = { result, appended: await appendEvents(write, events), ended }
    return done
  }
  const { result, appended, ended } = await core.transact(open).catch(async (error) => {
    if (done && databaseFailure(error) === 'lost' && (await wasCommitted(core, done.appended.at(-1), error, guard)))
      return done
    throw error
  })
  core.wake(wakes)
  core.announce?.()
  guard?.committed()
  logEvents(core.log, appended)
  core.observer?.appended(appended)
  for (const step of ended) core.observer?.stepEnded(step)
  for (const one of spans) core.tracing?.record(one)
  return result
}

/** Whether a COMMIT was carried out although the connection broke. Throws OUTCOME_UNKNOWN if that is uncertain. */
async function wasCommitted(
  core: ReadCore,
  last: TransactionIdentity | undefined,
  cause: unknown,
  guard?: Guard,
): Promise<boolean> {
  const written = last ? await wasWritten(core.db, last) : null
  if (written !== null) return written
  throw new DomainError(
    'OUTCOME_UNKNOWN',
    'The database connection broke during the write, so the write may or may not have happened. ' +
      (guard ? 'Repeat it with the same Idempotency-Key.' : 'Check before you repeat it.'),
    { cause },
  )
}
