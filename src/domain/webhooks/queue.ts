/** The queues of webhook endpoints: leases, and the outcome of each try. A lease holder sends a queue's deliveries in order (README.md). */
import { randomUUID } from 'node:crypto'
import { Prisma } from '../../generated/prisma/client.ts'
import { EVENT_COLUMNS, type EventRow, type StoredEvent, toEvent } from '../events/read.ts'
import { WEBHOOK_TIMEOUT_MS, type WebhookOutcome } from '../ports/webhook-sender.ts'
import { toChangeOrSkip } from '../repositories/locks.ts'
import type { ReadCore } from '../transaction/context.ts'
import type { SigningSecrets, WebhookForm } from './endpoint.ts'

/** Renewed after each send. A send must begin within this time after the renewal. */
export const LEASE_MARGIN_MS = 15_000
const LEASE_SECONDS = (WEBHOOK_TIMEOUT_MS + LEASE_MARGIN_MS) / 1000
const GIVE_UP_HOURS = 24
/** Queues of one endpoint that are sent concurrently, by all servers. An endpoint that does not answer gets one try at a time. */
const QUEUES_PER_ENDPOINT = 4

/** A leased queue. */
export interface LeasedQueue {
  endpointId: string
  orderingKey: string
  /** grows with each new delivery */
  version: number
  /** fencing token */
  token: string
}

/** A clock time in whole milliseconds, the precision of the columns, so a new row is due immediately. */
const NOW = Prisma.sql`clock_timestamp()::timestamptz(3)`

const FREE = Prisma.sql`(q.taken_until IS NULL OR q.taken_until < clock_timestamp())`

/** Queues `q` of endpoints `w` that may be sent. */
export const DUE = Prisma.sql`
  FROM endpoint_queues q JOIN webhook_endpoints w ON w.id = q.endpoint_id
  WHERE q.due_at <= ${NOW} AND ${FREE} AND w.enabled AND (w.not_before IS NULL OR w.not_before <= ${NOW})`

/** Leases up to `limit` queues, longest due first. `silent`: of endpoints that did not answer the last try, or of the others. */
export async function leaseQueues(core: ReadCore, limit: number, silent: boolean): Promise<LeasedQueue[]> {
  const token = randomUUID()
  const perEndpoint = silent ? 1 : QUEUES_PER_ENDPOINT
  const rows = await core.db.$queryRaw<Omit<LeasedQueue, 'token'>[]>`
    WITH due AS (
      SELECT q.endpoint_id, q.ordering_key, q.due_at,
             row_number() OVER (PARTITION BY q.endpoint_id ORDER BY q.due_at) + (
               SELECT count(*) FROM endpoint_queues t WHERE t.endpoint_id = q.endpoint_id AND t.taken_until > clock_timestamp()) AS place
      ${DUE} AND (w.unanswered > 0) = ${silent}
    ), chosen AS (
      SELECT q.endpoint_id, q.ordering_key FROM endpoint_queues q JOIN due USING (endpoint_id, ordering_key)
      WHERE due.place <= ${perEndpoint} AND ${FREE} ORDER BY due.due_at LIMIT ${limit} ${toChangeOrSkip('q')}
    )
    UPDATE endpoint_queues q SET taken_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}), taken_by = ${token}::uuid
    FROM chosen c WHERE q.endpoint_id = c.endpoint_id AND q.ordering_key = c.ordering_key
    RETURNING q.endpoint_id::text AS "endpointId", q.ordering_key AS "orderingKey", q.version`
  return rows.map((row) => ({ ...row, token }))
}

/** A delivery with all that its message contains. */
export interface PendingDelivery {
  id: string
  type: string
  event: StoredEvent
  deploymentName: string | null
  revisionNumber: number | null
  endpoint: SigningSecrets & { url: string; form: WebhookForm; enabled: boolean; unanswered: number }
}

type PendingRow = EventRow &
  Omit<SigningSecrets, 'id'> & {
    deliveryId: string
    messageType: string
    deploymentName: string | null
    revisionNumber: number | null
    url: string
    form: WebhookForm
    enabled: boolean
    unanswered: number
  }

/** The first `limit` pending deliveries of a queue, in order. Renews the lease; empty also if it is lost. */
export async function readPending(core: ReadCore, queue: LeasedQueue, limit: number): Promise<PendingDelivery[]> {
  const rows = await core.db.$queryRaw<PendingRow[]>`
    WITH held AS (${renewal(queue)})
    SELECT ${EVENT_COLUMNS}, d.id::text AS "deliveryId", d.type AS "messageType", w.url, w.form, w.enabled, w.unanswered,
           w.secret, w.previous_secret AS "previousSecret", w.previous_until AS "previousUntil",
           (SELECT x.name FROM deployments x WHERE x.id = e.deployment_id) AS "deploymentName",
           (SELECT r.number FROM revisions r WHERE r.id = e.revision_id) AS "revisionNumber"
    FROM held JOIN endpoint_deliveries d ON d.endpoint_id = held.endpoint_id AND d.ordering_key = held.ordering_key
    JOIN webhook_endpoints w ON w.id = d.endpoint_id
    JOIN events e ON e.workspace_id = d.workspace_id AND e.sequence = d.sequence
    WHERE d.delivered_at IS NULL AND d.dead_at IS NULL ORDER BY d.sequence LIMIT ${limit}`
  return rows.map(
    ({ deliveryId: id, messageType: type, deploymentName, revisionNumber, url, form, enabled, unanswered, ...row }) => {
      const { secret, previousSecret, previousUntil, ...event } = row
      const endpoint = { id: queue.endpointId, secret, previousSecret, previousUntil, url, form, enabled, unanswered }
      return { id, type, event: toEvent(event), deploymentName, revisionNumber, endpoint }
    },
  )
}

const renewal = ({ endpointId, orderingKey, token }: LeasedQueue) => Prisma.sql`
  UPDATE endpoint_queues SET taken_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
  WHERE endpoint_id = ${endpointId}::uuid AND ordering_key = ${orderingKey} AND taken_by = ${token}::uuid
  RETURNING endpoint_id, ordering_key`

/** Records a success and renews the lease. False: another server holds the queue. */
export async function recordDelivered(
  core: ReadCore,
  queue: LeasedQueue,
  id: string,
  answer: number,
): Promise<boolean> {
  const held = await core.db.$queryRaw<unknown[]>`
    WITH delivered AS (
      UPDATE endpoint_deliveries SET delivered_at = clock_timestamp(), tried_at = clock_timestamp(), tries = tries + 1,
        answer = ${answer}, error = NULL
      WHERE id = ${id}::uuid AND delivered_at IS NULL
    )
    UPDATE endpoint_queues SET tries = 0, taken_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    WHERE endpoint_id = ${queue.endpointId}::uuid AND ordering_key = ${queue.orderingKey} AND taken_by = ${queue.token}::uuid
    RETURNING 1`
  return held.length > 0
}

/** Seconds until the next try: 5, 10, 20 … 300. `tries`: SQL for the number of failed tries before. */
const backoff = (tries: Prisma.Sql) => Prisma.sql`least(300, 5 * power(2, least(${tries}, 20)))`

/**
 * Records a failure and ends the lease. The queue waits; a delivery that is 24 hours old becomes a dead letter, and the queue goes
 * on with the next one.
 */
export async function recordFailure(
  core: ReadCore,
  queue: LeasedQueue,
  id: string,
  outcome: Exclude<WebhookOutcome, { kind: 'delivered' }>,
): Promise<void> {
  const { error } = outcome
  const [answer, retryAfter] = outcome.kind === 'refused' ? [outcome.answer, outcome.retryAfterSeconds ?? 0] : [null, 0]
  await core.db.$executeRaw`
    WITH failed AS (
      UPDATE endpoint_deliveries SET tried_at = clock_timestamp(), tries = tries + 1, answer = ${answer}::int, error = ${error},
        dead_at = CASE WHEN queued_at < clock_timestamp() - make_interval(hours => ${GIVE_UP_HOURS}) THEN clock_timestamp() END
      WHERE id = ${id}::uuid AND delivered_at IS NULL RETURNING dead_at IS NOT NULL AS dead
    )
    UPDATE endpoint_queues q SET taken_until = NULL, taken_by = NULL,
      tries = CASE WHEN failed.dead THEN 0 ELSE q.tries + 1 END,
      due_at = clock_timestamp() + CASE WHEN failed.dead THEN interval '0' ELSE
        make_interval(secs => greatest(${backoff(Prisma.sql`q.tries`)}, least(3600, ${retryAfter}::int))) END
    FROM failed WHERE q.endpoint_id = ${queue.endpointId}::uuid AND q.ordering_key = ${queue.orderingKey}
      AND q.taken_by = ${queue.token}::uuid`
}

/**
 * The endpoint did not answer: it gets one try at a time, after a pause. Of an endpoint that has been silent for 24 hours, all
 * deliveries of that age become dead letters, because each of them would wait for a separate try.
 */
export async function recordSilence(core: ReadCore, endpointId: string): Promise<void> {
  await core.db.$executeRaw`
    WITH silent AS (
      -- concurrent tries count once
      UPDATE webhook_endpoints w SET unanswered = w.unanswered + CASE WHEN w.not_before > clock_timestamp() THEN 0 ELSE 1 END,
        silent_since = coalesce(w.silent_since, clock_timestamp()),
        not_before = greatest(w.not_before, clock_timestamp() + make_interval(secs => ${backoff(Prisma.sql`w.unanswered`)}))
      WHERE w.id = ${endpointId}::uuid RETURNING w.id, w.silent_since
    )
    UPDATE endpoint_deliveries d SET dead_at = clock_timestamp(), error = coalesce(d.error, 'was not tried: the endpoint did not answer for 24 hours')
    FROM silent s
    WHERE d.endpoint_id = s.id AND d.delivered_at IS NULL AND d.dead_at IS NULL
      AND greatest(d.queued_at, s.silent_since) < clock_timestamp() - make_interval(hours => ${GIVE_UP_HOURS})`
}

/** The endpoint answered again. */
export async function recordAnswer(core: ReadCore, endpointId: string): Promise<void> {
  await core.db.$executeRaw`
    UPDATE webhook_endpoints SET unanswered = 0, silent_since = NULL, not_before = NULL WHERE id = ${endpointId}::uuid`
}

/** Ends the lease: removes the queue if it is `empty` and got no delivery since the lease; else it is due. */
export async function endLease(core: ReadCore, queue: LeasedQueue, empty: boolean): Promise<void> {
  const { endpointId, orderingKey, token, version } = queue
  const own = Prisma.sql`endpoint_id = ${endpointId}::uuid AND ordering_key = ${orderingKey} AND taken_by = ${token}::uuid`
  if (empty && (await core.db.$executeRaw`DELETE FROM endpoint_queues WHERE ${own} AND version = ${version}`) > 0)
    return
  await core.db.$executeRaw`
    UPDATE endpoint_queues SET taken_until = NULL, taken_by = NULL, due_at = clock_timestamp() WHERE ${own}`
}
