/**
 * Retires keys: wraps the key of everything that is encrypted under another key of the ring with its first one, in
 * batches, beside running servers. It may be interrupted at any time, and run again.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core, Db } from '../context.ts'
import type { KeyRing } from './keyring.ts'
import { reseal } from './sealed.ts'
import { allSealed, placeOf, SEALED_COLUMNS, type SealedColumn } from './sealed-columns.ts'

/** rows that are read and written at a time */
const BATCH = 500
/** so often all is gone through, while servers go on writing with another key */
const PASSES = 3
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

export interface Rotation {
  /** values that were wrapped anew */
  rewrapped: number
  /** by key, other than the first, and how many values need it yet (0: a start demands it). Empty: every other key may go */
  needed: Map<string, number>
  /** until when an address for an upload may be in use that another key has signed; null: there is none */
  signedUntil: Date | null
}

/** Writes only over what it has read, so that what somebody else writes meanwhile stays. */
export async function rotateSecrets(core: Core): Promise<Rotation> {
  const { db, keyring } = core
  let rewrapped = 0
  let needed = await neededKeys(db, keyring)
  for (let pass = 0; pass < PASSES && needed.size > 0; pass++) {
    rewrapped += await inBatches((after) => rewrapSets(db, keyring, after))
    for (const column of SEALED_COLUMNS)
      rewrapped += await inBatches((after) => rewrapColumn(db, keyring, column, after))
    needed = await neededKeys(db, keyring)
  }
  // what a start demands even of an empty database (src/secrets-file.ts); other keys it demands for what needs them.
  // Of a ring without that key nothing is demanded: it is another database's, and no server could start any more
  await db.installation.updateMany({ where: { keyId: { in: keyring.ids } }, data: { keyId: keyring.currentId } })
  for (const { keyId } of await db.installation.findMany({ where: { keyId: { not: keyring.currentId } } }))
    needed.set(keyId, needed.get(keyId) ?? 0)
  const [open] = await db.$queryRaw<{ until: Date | null }[]>`
    SELECT max(expires_at) AS until FROM uploads WHERE expires_at > now() AND used_at IS NULL AND removed_at IS NULL`
  return { rewrapped, needed, signedUntil: open!.until }
}

/** Goes through rows in the order of their ids. `work` answers what it did, and the last id it saw; null: there are no more. */
async function inBatches(work: (after: string) => Promise<{ done: number; last: string | null }>): Promise<number> {
  let all = 0
  for (let after: string | null = BEFORE_ALL; after !== null; ) {
    const { done, last }: { done: number; last: string | null } = await work(after)
    all += done
    after = last
  }
  return all
}

/** What can't be opened is left as it is, and counts as needing its key. */
function tried<Row extends { id: string }, T>(rows: readonly Row[], rewrap: (row: Row) => T): T[] {
  return rows.flatMap((row) => {
    try {
      return [rewrap(row)]
    } catch {
      return []
    }
  })
}

async function rewrapSets(db: Db, keyring: KeyRing, after: string) {
  const rows = await db.$queryRaw<{ id: string; keyId: string; wrapped: Uint8Array }[]>`
    SELECT id, key_id AS "keyId", wrapped_key AS wrapped FROM secret_sets
    WHERE key_id <> ${keyring.currentId} AND id > ${after}::uuid ORDER BY id LIMIT ${BATCH}`
  const changes = tried(rows, ({ id, keyId, wrapped }) => ({
    id,
    old: keyId,
    new: keyring.wrap(keyring.unwrap(keyId, wrapped, id), id).toString('base64'),
  }))
  const done = await db.$executeRaw`
    UPDATE secret_sets s SET key_id = ${keyring.currentId}, wrapped_key = decode(c.new, 'base64')
    FROM jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) AS c (id uuid, old text, new text)
    WHERE s.id = c.id AND s.key_id = c.old`
  return { done, last: rows.at(-1)?.id ?? null }
}

async function rewrapColumn(db: Db, keyring: KeyRing, place: SealedColumn, after: string) {
  const [table, column, of] = [place.table, place.column, place.of].map(Prisma.raw) as [
    Prisma.Sql,
    Prisma.Sql,
    Prisma.Sql,
  ]
  const rows = await db.$queryRaw<{ id: string; text: string }[]>`
    SELECT id, ${column} AS text FROM ${table}
    WHERE ${of} AND split_part(${column}, '.', 1) <> ${keyring.currentId} AND id > ${after}::uuid ORDER BY id LIMIT ${BATCH}`
  const changes = tried(rows, ({ id, text }) => ({ id, old: text, new: reseal(keyring, placeOf(place, id), text) }))
  const done = await db.$executeRaw`
    UPDATE ${table} t SET ${column} = c.new
    FROM jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) AS c (id uuid, old text, new text)
    WHERE t.id = c.id AND t.${column} = c.old`
  return { done, last: rows.at(-1)?.id ?? null }
}

async function neededKeys(db: Db, keyring: KeyRing): Promise<Map<string, number>> {
  const rows = await db.$queryRaw<{ keyId: string; values: number }[]>`
    SELECT key_id AS "keyId", count(*)::int AS values FROM (
      SELECT key_id FROM secret_sets UNION ALL SELECT key_id FROM (${allSealed}) AS sealed
    ) AS wrapped WHERE key_id <> ${keyring.currentId} GROUP BY key_id ORDER BY key_id`
  return new Map(rows.map(({ keyId, values }) => [keyId, values]))
}
