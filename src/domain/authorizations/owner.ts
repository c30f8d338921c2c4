/** Who a subject is, in words for a person who may not know how it is called here. */
import type { Workspace } from '../../generated/prisma/client.ts'
import type { Core } from '../context.ts'
import { uuid } from '../fields.ts'

/** A key by its name, a user as the issuer of their JWTs calls them. */
export async function ownerOf({ db }: Core, { organizationId }: Workspace, subject: string): Promise<string> {
  const id = uuid.safeParse(subject)
  const key = id.success
    ? await db.apiKey.findFirst({ where: { id: id.data, organizationId }, select: { name: true } })
    : null
  return key ? `the API key “${key.name}”` : `the user “${subject}”`
}
