/** Finds the OAuth providers of an organization by name, with or without a lock. */
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { NotFoundError } from '../../errors/errors.ts'
import { uuid } from '../../parsing/fields.ts'
import { toDelete } from '../../repositories/locks.ts'
import type { RequestContext, Sql, Tx } from '../../transaction/context.ts'

/** The tenant boundary of providers. Every query spreads it into its where-clause (docs/api-rules.md#who-is-calling). */
export function ownProviders({ workspace }: Pick<RequestContext, 'workspace'>): { organizationId: string } {
  return { organizationId: workspace.organizationId }
}

/** `name`: the `provider_id`, which is never a UUID, or the row's id. */
export function whereProvider(ctx: Pick<RequestContext, 'workspace'>, name: string) {
  const id = uuid.safeParse(name)
  return { ...ownProviders(ctx), ...(id.success ? { id: id.data } : { providerId: name }) }
}

/** `name`: as in `whereProvider`. Throws NotFoundError. */
export async function requireProvider(
  ctx: Pick<RequestContext, 'workspace'>,
  sql: Sql,
  name: string,
): Promise<OAuthProvider> {
  const found = await sql.oAuthProvider.findFirst({ where: whereProvider(ctx, name) })
  if (!found) throw new NotFoundError('OAuth provider', name)
  return found
}

/** Reads a provider and locks it until the commit against transactions that store its tokens. Throws NotFoundError. */
export async function lockProvider(tx: Tx, ctx: RequestContext, name: string): Promise<OAuthProvider> {
  const { id } = await requireProvider(ctx, tx.sql, name)
  await tx.sql.$queryRaw`SELECT 1 FROM oauth_providers WHERE id = ${id}::uuid ${toDelete('oauth_providers')}`
  const locked = await tx.sql.oAuthProvider.findUnique({ where: { id } })
  if (!locked) throw new NotFoundError('OAuth provider', name)
  return locked
}
