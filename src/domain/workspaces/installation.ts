/** Which installation this is: what it has started outside of the database belongs to it, and to no other. */
import type { Core } from '../context/context.ts'

/** A UUID, the same for as long as the database lives, also after it was restored from a backup. */
export async function installationId({ db }: Core): Promise<string> {
  return (await db.installation.findFirstOrThrow({ select: { uuid: true } })).uuid
}
