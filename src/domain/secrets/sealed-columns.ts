/** Where sealed values are (sealed.ts): one list, for the check at the start and for the rotation of keys. */
import { Prisma } from '../../generated/prisma/client.ts'

/** Each table has an `id`; `of`: its rows that have a value somebody may need yet. */
export const SEALED_COLUMNS = [
  { table: 'oauth_providers', column: 'client_secret', of: 'client_secret IS NOT NULL' },
  { table: 'oauth_tokens', column: 'sealed', of: 'true' },
  { table: 'token_revocations', column: 'sealed', of: 'true' },
  { table: 'oauth_authorizations', column: 'code_verifier', of: 'code_verifier IS NOT NULL AND expires_at > now()' },
] as const

export type SealedColumn = (typeof SEALED_COLUMNS)[number]

/** What a value was sealed for. */
export const placeOf = ({ table, column }: SealedColumn, id: string) => `${table}.${column}:${id}`

/** A query for all of them: `place`, `text`, and the id of the key that wraps it, `key_id`. */
export const allSealed = Prisma.join(
  SEALED_COLUMNS.map(
    ({ table, column, of }) => Prisma.sql`
      SELECT ${Prisma.raw(`'${table}.${column}:' || id AS place, ${column} AS text, split_part(${column}, '.', 1) AS key_id
      FROM ${table} WHERE ${of}`)}`,
  ),
  ' UNION ALL ',
)
