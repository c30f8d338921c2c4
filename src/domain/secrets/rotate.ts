/** The columns with sealed values, and key rotation. It may be interrupted and run again (README.md). */
import { Prisma } from '../../generated/prisma/client.ts'
import { reseal, unseal } from '../crypto/encrypted-value.ts'
import type { KeyRing } from '../crypto/keyring.ts'
import type { Db, ReadCore } from '../transaction/context.ts'

/** Each table has an `id`, by default a uuid. `condition`: selects rows whose value is still needed. */
export const SEALED_COLUMNS = [
  { table: 'oauth_providers', column: 'client_secret', condition: 'client_secret IS NOT NULL' },
  { table: 'signing_keys', column: 'private_key', condition: 'private_key IS NOT NULL', idType: 'text' },
  { table: 'oauth_tokens', column: 'sealed', condition: 'true' },
  { table: 'token_revocations', column: 'sealed', condition: 'true' },
  {
    table: 'oauth_authorizations',
    column: 'code_verifier',
    condition: 'code_verifier IS NOT NULL AND expires_at > now()',
  },
  { table: 'webhook_endpoints', column: 'secret', condition: 'true' },
  {
    table: 'webhook_endpoints',
    column: 'previous_secret',
    condition: 'previous_secret IS NOT NULL AND previous_until > now()',
  },
] as const

type SealedColumn = (typeof SEALED_COLUMNS)[number]

/** The context of a sealed value. */
const sealContext = ({ table, column }: SealedColumn, id: string) => `${table}.${column}:${id}`

/** Selects all sealed values: `place` (the context), `text`, and `key_id`, the id of the wrapping key. */
const allSealed = Prisma.join(
  SEALED_COLUMNS.map(
    ({ table, column, condition }) => Prisma.sql`
      SELECT ${Prisma.raw(`'${table}.${column}:' || id AS place, ${column} AS text, split_part(${column}, '.', 1) AS key_id
      FROM ${table} WHERE ${condition}`)}`,
  ),
  ' UNION ALL ',
)

/** One value for each key in use. `open` throws if the key ring has a different key under that id. */
export async function sampleEachKey(db: Db): Promise<{ keyId: string; open: (keyring: KeyRing) => unknown }[]> {
  const sets = await db.$queryRaw<{ id: string; keyId: string; wrapped: Uint8Array }[]>`
    SELECT DISTINCT ON (key_id) id, key_id AS "keyId", wrapped_key AS wrapped FROM secret_sets ORDER BY key_id, id`
  const sealed = await db.$queryRaw<{ keyId: string; place: string; text: string }[]>`
    SELECT DISTINCT ON (key_id) key_id AS "keyId", place, text FROM (${allSealed}) AS sealed ORDER BY key_id`
  return [
    ...sets.map(({ id, keyId, wrapped }) => ({ keyId, open: (ring: KeyRing) => ring.unwrap(keyId, wrapped, id) })),
    ...sealed.map(({ keyId, place, text }) => ({ keyId, open: (ring: KeyRing) => unseal(ring, place, text) })),
  ]
}

const BATCH_ROWS = 500
/** Repeated passes, because running servers may still write with another key. */
const MAX_PASSES = 3
const NIL_UUID = '00000000-0000-0000-0000-000000000000'

export interface Rotation {
  /** number of rewrapped values */
  rewrapped: number
  /**
   * id of each key other than the first → number of values that need it; 0: only servers need it to start. Empty: all
   * other keys can be removed
   */
  needed: Map<string, number>
  /** when the last upload URL that another key may have signed expires; null: none */
  signedUntil: Date | null
}

/** Updates only unchanged rows, so concurrent writes are not lost. */
export async function rotateSecrets(core: ReadCore): Promise<Rotation> {
  const { db, keyring } = core
  let rewrapped = 0
  let needed = await neededKeys(db, keyring)
  for (let pass = 0; pass < MAX_PASSES && needed.size > 0; pass++) {
    rewrapped += await inBatches((after) => rewrapSets(db, keyring, after))
    for (const column of SEALED_COLUMNS)
      rewrapped += await inBatches((after) => rewrapColumn(db, keyring, column, after))
    needed = await neededKeys(db, keyring)
  }
  // Servers need the installation's key to start, even with an empty database (src/app/keyring-file.ts). It is
  // replaced only if it is a key of this ring. Otherwise the ring belongs to another database, and no server could
  // start.
  await db.installation.updateMany({ where: { keyId: { in: keyring.ids } }, data: { keyId: keyring.currentId } })
  for (const { keyId } of await db.installation.findMany({ where: { keyId: { not: keyring.currentId } } }))
    needed.set(keyId, needed.get(keyId) ?? 0)
  const [open] = await db.$queryRaw<{ until: Date | null }[]>`
    SELECT max(expires_at) AS until FROM uploads WHERE expires_at > now() AND used_at IS NULL AND removed_at IS NULL`
  return { rewrapped, needed, signedUntil: open!.until }
}

/** Goes through rows by id. `work` returns the number of changed rows and the last id; null: no more rows. */
async function inBatches(work: (after: string) => Promise<{ done: number; last: string | null }>): Promise<number> {
  let all = 0
  for (let after: string | null = NIL_UUID; after !== null; ) {
    const { done, last }: { done: number; last: string | null } = await work(after)
    all += done
    after = last
  }
  return all
}

/** Skips rows that can't be unwrapped; they still need their key. */
function skipFailures<Row extends { id: string }, T>(rows: readonly Row[], rewrap: (row: Row) => T): T[] {
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
    WHERE key_id <> ${keyring.currentId} AND id > ${after}::uuid ORDER BY id LIMIT ${BATCH_ROWS}`
  const changes = skipFailures(rows, ({ id, keyId, wrapped }) => ({
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
  const [table, column, condition, idType] = [
    ...[place.table, place.column, place.condition],
    'idType' in place ? place.idType : 'uuid',
  ].map((text) => Prisma.raw(text!)) as [Prisma.Sql, Prisma.Sql, Prisma.Sql, Prisma.Sql]
  const rows = await db.$queryRaw<{ id: string; text: string }[]>`
    SELECT id, ${column} AS text FROM ${table}
    WHERE ${condition} AND split_part(${column}, '.', 1) <> ${keyring.currentId} AND id > ${after}::${idType} ORDER BY id LIMIT ${BATCH_ROWS}`
  const changes = skipFailures(rows, ({ id, text }) => ({
    id,
    old: text,
    new: reseal(keyring, sealContext(place, id), text),
  }))
  const done = await db.$executeRaw`
    UPDATE ${table} t SET ${column} = c.new
    FROM jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) AS c (id ${idType}, old text, new text)
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
