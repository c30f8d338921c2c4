/**
 * Leases on deliveries. Those of one branch, or of one installation, are taken together, by one server at a time: what
 * it then hears from the provider is true for all of them. A server that is lost or late loses its lease, and what it
 * heard may be older than what was done since: whoever writes checks the lease in the same transaction.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core, Sql } from '../context.ts'

/** Longer than what the provider may take to answer. */
const LEASE_SECONDS = 60
/** A provider that does not answer is asked again for so long. */
const PATIENCE_HOURS = 24
/** Seconds before the second look, and the longest pause between two. */
export const FIRST_PAUSE = 5
const LONGEST_PAUSE = 600

export interface Delivery {
  id: string
  action: string | null
  after: string | null
  /** which try this is: 1, 2 … Also the fence: another lease has another number */
  tries: number
}

/** All open deliveries about the same thing. */
export interface Group {
  event: string
  installationId: number
  repository: string | null
  branch: string | null
  deliveries: [Delivery, ...Delivery[]]
}

type Row = Delivery & Pick<Group, 'event' | 'repository' | 'branch'> & { installationId: bigint }

/** When a round begins; null: nothing is due. What comes later waits for the next, so that a stream of pushes makes not one look each. */
export async function roundBegins(core: Core): Promise<Date | null> {
  const [row] = await core.db.$queryRaw<{ now: Date }[]>`
    SELECT clock_timestamp()::timestamptz(3) AS now
    WHERE EXISTS (SELECT 1 FROM webhook_deliveries WHERE finished_at IS NULL AND not_before <= clock_timestamp())`
  return row?.now ?? null
}

/** The group of the oldest delivery that is due and came before `until`; null: nothing is due. */
export async function leaseGroup(core: Core, until: Date): Promise<Group | null> {
  const rows = await core.db.$transaction(async (sql) => {
    // one at a time, or two servers would each take a part of the same group
    await sql.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('pilothouse_gitprovider'))`
    return sql.$queryRaw<Row[]>`
      WITH due AS (
        SELECT event, installation_id, repository, branch FROM webhook_deliveries d
        WHERE finished_at IS NULL AND not_before <= clock_timestamp() AND received_at <= ${until}
          AND NOT EXISTS (SELECT 1 FROM webhook_deliveries other
            WHERE other.finished_at IS NULL AND other.leased_until > clock_timestamp() AND other.event = d.event
              AND other.installation_id = d.installation_id
              AND other.repository IS NOT DISTINCT FROM d.repository AND other.branch IS NOT DISTINCT FROM d.branch)
        ORDER BY received_at, id LIMIT 1
      ), free AS (
        SELECT d.id FROM webhook_deliveries d JOIN due ON d.event = due.event AND d.installation_id = due.installation_id
          AND d.repository IS NOT DISTINCT FROM due.repository AND d.branch IS NOT DISTINCT FROM due.branch
        WHERE d.finished_at IS NULL FOR UPDATE OF d SKIP LOCKED
      )
      UPDATE webhook_deliveries d
      SET tries = tries + 1, leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}::float8)
      FROM free WHERE d.id = free.id
      RETURNING d.id, d.event, d.action, d.installation_id AS "installationId", d.repository, d.branch, d.after, d.tries`
  })
  const [first, ...others] = rows
  if (!first) return null
  const { event, repository, branch } = first
  return { event, installationId: Number(first.installationId), repository, branch, deliveries: [first, ...others] }
}

/** Whether the lease is still ours; then it stays so until this transaction ends. */
export async function holds(sql: Sql, { deliveries: [first] }: Group): Promise<boolean> {
  const held = await sql.$queryRaw<unknown[]>`
    SELECT 1 FROM webhook_deliveries
    WHERE id = ${first.id} AND tries = ${first.tries} AND leased_until > clock_timestamp() FOR NO KEY UPDATE`
  return held.length > 0
}

/** These are done. */
export async function finish(core: Core, deliveries: Delivery[]): Promise<void> {
  await core.db.$executeRaw`
    UPDATE webhook_deliveries d SET finished_at = clock_timestamp(), leased_until = NULL ${ours(deliveries)}`
}

/** To be looked at again, later each time; those that have waited for a day are given up. Returns how many. */
export async function postpone(core: Core, deliveries: Delivery[]): Promise<number> {
  const rows = await core.db.$queryRaw<{ givenUp: boolean }[]>`
    UPDATE webhook_deliveries d SET leased_until = NULL,
      not_before = clock_timestamp() + make_interval(secs => least(${LONGEST_PAUSE}::float8, ${FIRST_PAUSE}::float8 * 2 ^ least(d.tries - 1, 20))),
      finished_at = CASE WHEN d.received_at < clock_timestamp() - make_interval(hours => ${PATIENCE_HOURS}::int) THEN clock_timestamp() END
    ${ours(deliveries)} RETURNING d.finished_at IS NOT NULL AS "givenUp"`
  return rows.filter(({ givenUp }) => givenUp).length
}

/** This server stops: they are free again at once, and no try is counted. */
export async function giveBack(core: Core, deliveries: Delivery[]): Promise<void> {
  await core.db
    .$executeRaw`UPDATE webhook_deliveries d SET leased_until = NULL, tries = d.tries - 1 ${ours(deliveries)}`
}

/** Only those that nobody has taken since. */
function ours(deliveries: Delivery[]): Prisma.Sql {
  const ids = deliveries.map(({ id }) => id)
  const tries = deliveries.map((delivery) => delivery.tries)
  return Prisma.sql`FROM unnest(${ids}::text[], ${tries}::int[]) AS held(id, tries) WHERE d.id = held.id AND d.tries = held.tries`
}
