/** Removes old log lines, in small statements, so other transactions wait only shortly. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { LogType } from '../../generated/prisma/enums.ts'
import { toDeleteOrSkip } from '../repositories/locks.ts'
import type { ReadCore } from '../transaction/context.ts'

export type HasTime = () => boolean

export const daysAgo = (days: number) => Prisma.sql`(now() - make_interval(days => ${days}::int))`

/** Repeats `batch` while it removes `most` rows and there is time. `batch` returns how many rows it removed. */
export async function removeInBatches(most: number, hasTime: HasTime, batch: () => Promise<number>): Promise<void> {
  for (let removed = most; removed === most && hasTime(); ) removed = await batch()
}

/** About 50 ms per statement. */
const BATCH_ROWS = 5000
const REVISIONS_PER_STATEMENT = 20

/** Whether the oldest line is too old. Its writer's clock may have been slow, but appending allows no future times. */
export const hasOldLines = (days: number) =>
  Prisma.sql`coalesce((SELECT time < ${daysAgo(days)} FROM log_lines ORDER BY id LIMIT 1), false)`

export async function removeOldLines(core: ReadCore, hasTime: HasTime): Promise<void> {
  const old = daysAgo(core.settings.retention.logDays)
  const oldest = Prisma.sql`
    time < ${old} AND id = ANY (ARRAY(SELECT l.id FROM log_lines l ORDER BY l.id LIMIT ${BATCH_ROWS} ${toDeleteOrSkip('l')}))`
  await removeInBatches(BATCH_ROWS, hasTime, () => removeAndRecord(core, oldest))
}

/** Removes these lines, records per log how far it was removed, and returns their number. */
async function removeAndRecord({ db }: ReadCore, which: Prisma.Sql): Promise<number> {
  // in the key's order, because another server may write the same rows
  const [row] = await db.$queryRaw<{ removed: bigint }[]>`
    WITH removed AS (
      DELETE FROM log_lines WHERE ${which} RETURNING revision_id, type, deployment_id, id, attempt, time
    ), said AS (
      INSERT INTO log_removals AS known (revision_id, type, deployment_id, line_id, attempt, time)
      SELECT DISTINCT ON (o.revision_id, o.type) o.revision_id, o.type, o.deployment_id, o.id, o.attempt, o.time
      FROM removed o JOIN revisions r ON r.id = o.revision_id ORDER BY o.revision_id, o.type, o.id DESC
      ON CONFLICT (revision_id, type) DO UPDATE SET line_id = EXCLUDED.line_id, attempt = EXCLUDED.attempt, time = EXCLUDED.time
      WHERE known.line_id < EXCLUDED.line_id
    ), blocks AS (
      DELETE FROM log_blocks b USING (
        SELECT deployment_id, type, min(id) AS first, max(id) AS last FROM removed GROUP BY deployment_id, type
      ) AS o
      WHERE b.deployment_id = o.deployment_id AND b.type = o.type AND b.last_id >= o.first AND b.after_id < o.last
    )
    SELECT count(*) AS removed FROM removed`
  return Number(row!.removed)
}

const TORN_DOWN = Prisma.sql`
  d.torn_down_at IS NOT NULL AND EXISTS (SELECT 1 FROM log_lines l WHERE l.deployment_id = d.id)`

/** Torn-down deployments that still have log lines. */
export const LINES_OF_TORN_DOWN = Prisma.sql`SELECT d.id FROM deployments d WHERE ${TORN_DOWN}`

export async function removeLinesOfTornDown(core: ReadCore, hasTime: HasTime): Promise<void> {
  await removeInBatches(
    BATCH_ROWS,
    hasTime,
    () => core.db.$executeRaw`
      WITH gone AS MATERIALIZED (${LINES_OF_TORN_DOWN} LIMIT 100), blocks AS (
        DELETE FROM log_blocks b USING gone WHERE b.deployment_id = gone.id
      )
      DELETE FROM log_lines WHERE id = ANY (ARRAY(
        SELECT l.id FROM gone JOIN log_lines l ON l.deployment_id = gone.id LIMIT ${BATCH_ROWS} ${toDeleteOrSkip('l')}))`,
  )
}

/** Blocks that a server wrote while another one removed their lines. */
export const oldBlocks = (days: number) => Prisma.sql`SELECT FROM log_blocks WHERE oldest < ${daysAgo(days)}`

export async function removeOldBlocks({ db, settings }: ReadCore): Promise<void> {
  await db.$executeRaw`DELETE FROM log_blocks WHERE oldest < ${daysAgo(settings.retention.logDays)}`
}

/** Shortens the logs that grew after line `since` (null: all). Returns whether all were checked before the time ran out. */
export async function limitLogs(core: ReadCore, since: bigint | null, hasTime: HasTime): Promise<boolean> {
  const grown = await core.db.$queryRaw<{ id: string }[]>(
    since === null
      ? Prisma.sql`SELECT id FROM revisions`
      : Prisma.sql`SELECT DISTINCT revision_id AS id FROM log_lines WHERE id > ${since}`,
  )
  for (let from = 0; from < grown.length; from += REVISIONS_PER_STATEMENT) {
    if (!hasTime()) return false
    for (const log of await findOversized(
      core,
      grown.slice(from, from + REVISIONS_PER_STATEMENT).map(({ id }) => id),
    ))
      await shorten(core, log, hasTime)
  }
  return hasTime()
}

/** Only lines after `edge` stay. */
interface OversizedLog {
  revisionId: string
  type: LogType
  edge: bigint
}

const MAX_LINE_ID = 2n ** 63n - 1n

/** Lines `l` of one log before `end`, as a row range: for equalities Postgres would read lines of other logs too. */
const logRangeSql = (revisionId: Prisma.Sql, type: Prisma.Sql, end: bigint) => Prisma.sql`
  (l.revision_id, l.type, l.id) >= (${revisionId}, ${type}, 0) AND (l.revision_id, l.type, l.id) < (${revisionId}, ${type}, ${end})`

async function findOversized({ db, settings }: ReadCore, revisionIds: readonly string[]): Promise<OversizedLog[]> {
  const { linesPerRevision } = settings.retention
  const [, long] = await db.$transaction([
    // without sorting, Postgres reads the newest lines from the index's end, even of a log of millions
    db.$executeRaw`SET LOCAL enable_sort = off`,
    db.$queryRaw<OversizedLog[]>`
      SELECT r.id AS "revisionId", t.type, edge.id AS edge
      FROM unnest(${revisionIds}::uuid[]) AS r(id), unnest(enum_range(NULL::"LogType")) AS t(type), LATERAL (
        SELECT l.id FROM log_lines l WHERE ${logRangeSql(Prisma.sql`r.id`, Prisma.sql`t.type`, MAX_LINE_ID)}
        ORDER BY l.revision_id DESC, l.type DESC, l.id DESC OFFSET ${linesPerRevision} LIMIT 1
      ) AS edge`,
  ])
  return long
}

async function shorten(core: ReadCore, { revisionId, type, edge }: OversizedLog, hasTime: HasTime): Promise<void> {
  const before = logRangeSql(Prisma.sql`${revisionId}::uuid`, Prisma.sql`${type}::text::"LogType"`, edge + 1n)
  const oldest = Prisma.sql`
    id = ANY (ARRAY(
      SELECT l.id FROM log_lines l WHERE ${before}
      ORDER BY l.revision_id, l.type, l.id LIMIT ${BATCH_ROWS} ${toDeleteOrSkip('l')}))`
  await removeInBatches(BATCH_ROWS, hasTime, () => removeAndRecord(core, oldest))
}
