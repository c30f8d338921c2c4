/** The identity of this control plane. Resources outside of the database are labelled with it. */
import type { Core, Db } from '../transaction/context.ts'

/** A UUID that stays the same for the lifetime of the database, also after a restore from a backup. */
export async function installationId({ db }: Core): Promise<string> {
  const [{ uuid }] = await db.$queryRaw<[{ uuid: string }]>`SELECT uuid FROM installation`
  return uuid
}

/** Id of the key that encrypted its secrets last. Null: the database is empty. */
export async function installationKeyId(db: Db): Promise<string | null> {
  const [row] = await db.$queryRaw<{ keyId: string }[]>`SELECT key_id AS "keyId" FROM installation`
  return row?.keyId ?? null
}
