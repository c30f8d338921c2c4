/** All columns with sealed values (crypto/encrypted-value.ts), for the check at the start and for key rotation. */
import { Prisma } from '../../generated/prisma/client.ts'
import { unseal } from '../crypto/encrypted-value.ts'
import type { KeyRing } from '../crypto/keyring.ts'
import type { Db } from '../transaction/context.ts'

/** Each table has an `id`. `condition`: selects rows whose value is still needed. */
export const SEALED_COLUMNS = [
  { table: 'oauth_providers', column: 'client_secret', condition: 'client_secret IS NOT NULL' },
  { table: 'oauth_tokens', column: 'sealed', condition: 'true' },
  { table: 'token_revocations', column: 'sealed', condition: 'true' },
  {
    table: 'oauth_authorizations',
    column: 'code_verifier',
    condition: 'code_verifier IS NOT NULL AND expires_at > now()',
  },
] as const

export type SealedColumn = (typeof SEALED_COLUMNS)[number]

/** The context of a sealed value. */
export const sealContext = ({ table, column }: SealedColumn, id: string) => `${table}.${column}:${id}`

/** Selects all sealed values: `place` (the context), `text`, and `key_id`, the id of the wrapping key. */
export const allSealed = Prisma.join(
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
