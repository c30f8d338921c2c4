/** The queue of webhook deliveries, leased by branch or installation. Every write checks the lease (../README.md). */
import { Prisma } from '../../../generated/prisma/client.ts'
import { toChange, toDeleteOrSkip } from '../../repositories/locks.ts'
import type { ReadCore, Sql } from '../../transaction/context.ts'
import type { CommitWords } from '../../values/revision-source.ts'

/** Longer than the timeout of a call to the provider. */
const LEASE_SECONDS = 60
const GIVE_UP_HOURS = 24
/** Delay before the second attempt. It doubles up to the maximum. */
const FIRST_RETRY_SECONDS = 5
const MAX_RETRY_SECONDS = 600

export interface Delivery extends CommitWords {
  id: string
  action: string | null
  after: string | null
  /** number of this attempt, from 1; also the fencing token, because each lease increments it */
  tries: number
}

/** All open deliveries about one branch or installation. */
export interface DeliveryGroup {
  event: string
  installationId: number
  repository: string | null
  /** the provider's id; null: not about a repository, or received by an earlier version */
  repositoryId: bigint | null
  branch: string | null
  deliveries: [Delivery, ...Delivery[]]
}

type Row = Delivery &
  Pick<DeliveryGroup, 'event' | 'repository' | 'repositoryId' | 'branch'> & { installationId: bigint }

/**
 * The start time of a round; null: nothing is due. Later deliveries wait for the next round, so a stream of pushes does not cause
 * one provider call each. Times are compared in whole milliseconds, the precision of the columns, so a new row is due
 * immediately.
 */
export async function startOfRound(core: ReadCore): Promise<Date | null> {
  const [row] = await core.db.$queryRaw<{ now: Date }[]>`
    SELECT clock_timestamp()::timestamptz(3) AS now
    WHERE EXISTS (SELECT 1 FROM webhook_deliveries WHERE finished_at IS NULL AND not_before <= clock_timestamp()::timestamptz(3))`
  return row?.now ?? null
}

/** Leases the group of the oldest due delivery received before `until`; null: none. */
export async function leaseGroup(core: ReadCore, until: Date): Promise<DeliveryGroup | null> {
  const rows = await core.db.$transaction(async (sql) => {
    // one server at a time, because two could each take a part of one group
    await sql.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('pilothouse_gitprovider'))`
    return sql.$queryRaw<Row[]>`
      WITH due AS (
        SELECT event, installation_id, repository, branch FROM webhook_deliveries d
        WHERE finished_at IS NULL AND not_before <= clock_timestamp()::timestamptz(3) AND received_at <= ${until}
          AND NOT EXISTS (SELECT 1 FROM webhook_deliveries other
            WHERE other.finished_at IS NULL AND other.leased_until > clock_timestamp() AND other.event = d.event
              AND other.installation_id = d.installation_id
              AND other.repository IS NOT DISTINCT FROM d.repository AND other.branch IS NOT DISTINCT FROM d.branch)
        ORDER BY received_at, id LIMIT 1
      ), free AS (
        SELECT d.id FROM webhook_deliveries d JOIN due ON d.event = due.event AND d.installation_id = due.installation_id
          AND d.repository IS NOT DISTINCT FROM due.repository AND d.branch IS NOT DISTINCT FROM due.branch
        WHERE d.finished_at IS NULL ${toDeleteOrSkip('d')}
      )
      UPDATE webhook_deliveries d
      SET tries = tries + 1, leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}::float8)
      FROM free WHERE d.id = free.id
      RETURNING d.id, d.event, d.action, d.installation_id AS "installationId", d.repository,
        d.repository_id AS "repositoryId", d.branch, d.after, d.tries,
        d.commit_message AS "commitMessage", d.commit_author AS "commitAuthor"`
  })
  const [first, ...others] = rows
  if (!first) return null
  const { event, repository, repositoryId, branch } = first
  const installationId = Number(first.installationId)
  return { event, installationId, repository, repositoryId, branch, deliveries: [first, ...others] }
}

/** Checks the lease and keeps it until the transaction ends. */
export async function lockLease(sql: Sql, { deliveries: [first] }: DeliveryGroup): Promise<boolean> {
  const locked = await sql.$queryRaw<unknown[]>`
    SELECT 1 FROM webhook_deliveries
    WHERE id = ${first.id} AND tries = ${first.tries} AND leased_until > clock_timestamp() ${toChange('webhook_deliveries')}`
  return locked.length > 0
}

export async function finishDeliveries(core: ReadCore, deliveries: Delivery[]): Promise<void> {
  await core.db.$executeRaw`
    UPDATE webhook_deliveries d SET finished_at = clock_timestamp(), leased_until = NULL ${whereLeased(deliveries)}`
}

/** Schedules another attempt with a growing delay, or gives up after a day. Returns the number of given-up deliveries. */
export async function postponeDeliveries(core: ReadCore, deliveries: Delivery[]): Promise<number> {
  const rows = await core.db.$queryRaw<{ givenUp: boolean }[]>`
    UPDATE webhook_deliveries d SET leased_until = NULL,
      not_before = clock_timestamp() + make_interval(secs => least(${MAX_RETRY_SECONDS}::float8, ${FIRST_RETRY_SECONDS}::float8 * 2 ^ least(d.tries - 1, 20))),
      finished_at = CASE WHEN d.received_at < clock_timestamp() - make_interval(hours => ${GIVE_UP_HOURS}::int) THEN clock_timestamp() END
    ${whereLeased(deliveries)} RETURNING d.finished_at IS NOT NULL AS "givenUp"`
  return rows.filter(({ givenUp }) => givenUp).length
}

/** Releases the lease of a stopping server without counting the attempt. */
export async function releaseDeliveries(core: ReadCore, deliveries: Delivery[]): Promise<void> {
  await core.db
    .$executeRaw`UPDATE webhook_deliveries d SET leased_until = NULL, tries = d.tries - 1 ${whereLeased(deliveries)}`
}

/** Restricts a statement to deliveries whose lease is still held. */
function whereLeased(deliveries: Delivery[]): Prisma.Sql {
  const ids = deliveries.map(({ id }) => id)
  const tries = deliveries.map((delivery) => delivery.tries)
  return Prisma.sql`FROM unnest(${ids}::text[], ${tries}::int[]) AS lease(id, tries) WHERE d.id = lease.id AND d.tries = lease.tries`
}

/** Deletes deliveries after 7 days, longer than the provider may send them again. */
export async function purgeDeliveries(core: ReadCore): Promise<void> {
  await core.db.$executeRaw`
    DELETE FROM webhook_deliveries WHERE received_at < now() - interval '7 days' AND finished_at < now() - interval '7 days'`
}
