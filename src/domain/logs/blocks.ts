/** Blocks of consecutive lines: their text in lower case, which searches read many times faster than lines (README.md). */

import { Prisma } from '../../generated/prisma/client.ts'
import type { LogType } from '../../generated/prisma/enums.ts'
import type { Db, ReadCore } from '../transaction/context.ts'
import { blockScopeSql, blockTextSql, type LogFilter } from './filter.ts'
import { type LogWindow, MAX_LINE_ID } from './lines.ts'

export interface Block {
  /** it has the lines after this id, up to `last` */
  after: bigint
  last: bigint
  /** false: no line matches */
  mayMatch: boolean
}

const BLOCK_LINES = 1_000

interface BlockKey {
  deploymentId: string
  type: LogType
}

/** The first `take` blocks of the window, without one that begins before it. */
export async function readBlocks(
  db: Db,
  { deploymentId, type }: BlockKey,
  filter: LogFilter,
  { after = 0n, before = MAX_LINE_ID, order, take }: LogWindow,
): Promise<Block[]> {
  const range = Prisma.sql`
    b.deployment_id = ${deploymentId}::uuid AND b.type = ${type}::text::"LogType" AND b.last_id > ${after}
    AND ${order === 'asc' ? Prisma.sql`b.after_id >= ${after} AND b.after_id < ${before - 1n}` : Prisma.sql`b.last_id < ${before}`}`
  const sorted = Prisma.raw(order)
  const first = Prisma.sql`(SELECT DISTINCT b.last_id FROM log_blocks b WHERE ${range} ORDER BY b.last_id ${sorted} LIMIT ${take})`
  const edge = Prisma.raw(order === 'asc' ? '<= (SELECT max(last_id)' : '>= (SELECT min(last_id)')
  // OFFSET 0: each text is decompressed once, and not carried through the grouping
  return db.$queryRaw<Block[]>`
    SELECT after_id AS after, last_id AS last, bool_or(matches) AS "mayMatch" FROM (
      SELECT after_id, last_id, ${blockTextSql(filter)} AS matches FROM (
        SELECT b.after_id, b.last_id, CASE WHEN ${blockScopeSql(filter)} THEN b.text || '' END AS text
        FROM log_blocks b WHERE ${range} AND b.last_id ${edge} FROM ${first} AS first) OFFSET 0
      ) AS read OFFSET 0
    ) AS asked GROUP BY last_id, after_id ORDER BY last_id ${sorted}`
}

/** Namespace of the advisory locks on logs whose blocks are written: "logb" in ASCII. */
const LOCK = 0x6c6f6762
/** About 50 ms per statement. */
const BLOCKS_PER_STATEMENT = 10

/**
 * Writes the next blocks of a log and returns their number. 0: there are too few lines, or another server writes them.
 * Equal blocks follow from the same lines, so a late server changes nothing.
 */
function writeBlocks(db: Db, { deploymentId, type }: BlockKey): Promise<number> {
  const key = (id: Prisma.Sql) => Prisma.sql`(${deploymentId}::uuid, ${type}::text::"LogType", ${id})`
  return db.$executeRaw`
    WITH turn AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(${LOCK}::int, hashtext(${`${deploymentId} ${type}`})) AS ours
    ), newest AS MATERIALIZED (
      SELECT max(last_id) AS id FROM log_blocks WHERE deployment_id = ${deploymentId}::uuid AND type = ${type}::text::"LogType"
    ), lines AS MATERIALIZED (
      SELECT l.*, (row_number() OVER (ORDER BY l.id) - 1) / ${BLOCK_LINES} AS block,
             coalesce(lag(l.id) OVER (ORDER BY l.id), (SELECT id FROM newest), l.id - 1) AS previous
      FROM (
        SELECT l.id, l.level, l.message, l.time FROM log_lines l
        WHERE (SELECT ours FROM turn) AND EXISTS (SELECT 1 FROM deployments d WHERE d.id = ${deploymentId}::uuid AND d.torn_down_at IS NULL)
          AND (l.deployment_id, l.type, l.id) > ${key(Prisma.sql`coalesce((SELECT id FROM newest), 0)`)}
          AND (l.deployment_id, l.type, l.id) < ${key(Prisma.sql`${MAX_LINE_ID}::bigint`)}
        ORDER BY l.deployment_id, l.type, l.id LIMIT ${BLOCK_LINES * BLOCKS_PER_STATEMENT}
      ) AS l
    ), levels AS (
      SELECT level, min(min(previous)) OVER block AS after_id, max(max(id)) OVER block AS last_id, min(time) AS oldest,
             max(time) AS newest, lower(string_agg(message, E'\n' ORDER BY id)) AS text, sum(count(*)) OVER block AS lines
      FROM lines GROUP BY block, level WINDOW block AS (PARTITION BY block)
    )
    INSERT INTO log_blocks (deployment_id, type, level, after_id, last_id, oldest, newest, text)
    SELECT ${deploymentId}::uuid, ${type}::text::"LogType", level, after_id, last_id, oldest, newest, text
    FROM levels WHERE lines = ${BLOCK_LINES}
    ON CONFLICT DO NOTHING`
}

/** The next round continues. */
const ROUND_MS = 20_000
const DEPLOYMENTS_PER_STATEMENT = 100
/** Logs whose lines are counted. */
const MAX_COUNTED_LOGS = 100_000

interface LogCount extends BlockKey {
  lines: bigint
}

/**
 * Each call of the returned function is one round: it writes the blocks of logs with enough new lines. A round without
 * work is one statement. The first round also finds lines that were written while no server ran.
 */
export function createBlockWriter({ db }: ReadCore): (signal: AbortSignal) => Promise<void> {
  /** lines outside of blocks, by log */
  const counts = new Map<string, LogCount>()
  let newestCounted: bigint | null = null
  /** last deployment of the first round's check; null: all were checked */
  let checked: string | null = '00000000-0000-0000-0000-000000000000'

  async function check(last: string): Promise<void> {
    const rows = await readUncovered(db, last)
    for (const row of rows) if (row.lines >= BLOCK_LINES) counts.set(`${row.type} ${row.deploymentId}`, row)
    checked = rows.at(-1)?.deploymentId ?? null
  }

  async function countNew(since: bigint): Promise<void> {
    const rows = await db.$queryRaw<(LogCount & { newest: bigint })[]>`
      SELECT deployment_id AS "deploymentId", type, count(*) AS lines, max(id) AS newest FROM log_lines WHERE id > ${since}
      GROUP BY deployment_id, type`
    if (counts.size > MAX_COUNTED_LOGS) counts.clear()
    for (const { newest, ...row } of rows) {
      const log = `${row.type} ${row.deploymentId}`
      counts.set(log, { ...row, lines: row.lines + (counts.get(log)?.lines ?? 0n) })
      if (newestCounted === null || newest > newestCounted) newestCounted = newest
    }
  }

  return async (signal) => {
    const end = performance.now() + ROUND_MS
    const hasTime = () => !signal.aborted && performance.now() < end
    newestCounted ??= await readNewestId(db)
    while (checked !== null && hasTime()) await check(checked)
    await countNew(newestCounted)
    for (const [log, found] of counts) {
      if (found.lines < BLOCK_LINES) continue
      let written = 1
      while (written > 0 && hasTime()) written = await writeBlocks(db, found)
      if (written === 0) counts.delete(log)
    }
  }
}

async function readNewestId(db: Db): Promise<bigint> {
  const [row] = await db.$queryRaw<{ id: bigint | null }[]>`SELECT max(id) AS id FROM log_lines`
  return row!.id ?? 0n
}

/**
 * How many lines of the next deployments' logs are in no block, up to the size of a block. Without ORDER BY, Postgres
 * reads the whole table for a log of few lines.
 */
function readUncovered(db: Db, lastDeployment: string): Promise<LogCount[]> {
  return db.$queryRaw<LogCount[]>`
    SELECT d.id AS "deploymentId", t.type, (
      SELECT count(*) FROM (
        SELECT FROM log_lines l
        WHERE (l.deployment_id, l.type, l.id) > (d.id, t.type, coalesce((
            SELECT max(b.last_id) FROM log_blocks b WHERE b.deployment_id = d.id AND b.type = t.type), 0))
          AND (l.deployment_id, l.type, l.id) < (d.id, t.type, ${MAX_LINE_ID})
        ORDER BY l.deployment_id, l.type, l.id LIMIT ${BLOCK_LINES}
      ) AS uncovered
    ) AS lines
    FROM (
      SELECT id FROM deployments WHERE id > ${lastDeployment}::uuid AND torn_down_at IS NULL ORDER BY id LIMIT ${DEPLOYMENTS_PER_STATEMENT}
    ) AS d, unnest(enum_range(NULL::"LogType")) AS t(type) ORDER BY d.id`
}
