/** Which installation this is: what it has started outside of the database belongs to it, and to no other. */
import type { Core, Db } from '../transaction/context.ts'

/** A UUID, the same for as long as the database lives, also after it was restored from a backup. */
export async function installationId({ db }: Core): Promise<string> {
  const [{ uuid }] = await db.$queryRaw<[{ uuid: string }]>`SELECT uuid FROM installation`
  return uuid
}

/** Id of the key that its secrets were last encrypted with. Null: the database is empty. */
export async function installationKeyId(db: Db): Promise<string | null> {
  const [row] = await db.$queryRaw<{ keyId: string }[]>`SELECT key_id AS "keyId" FROM installation`
  return row?.keyId ?? null
}
