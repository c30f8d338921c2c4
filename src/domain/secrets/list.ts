/** Lists a deployment's secrets by name, with who set each and when. Every viewer may see that. */
import { z } from 'zod'
import { NotFoundError } from '../errors/errors.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { liveDeployment, requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { deploymentPath } from '../values/shapes.ts'
import { type Origin, originsOf } from './origins.ts'

export const listSecretsInput = z.object({ path: deploymentPath })

export interface NamedSecret {
  name: string
  /** null: set by an older server */
  origin: Origin | null
}

/** In the set's order. Role: viewer. Throws NotFoundError. */
export async function listSecrets(ctx: RequestContext, raw: RawInput): Promise<NamedSecret[]> {
  requireRole(ctx, 'viewer')
  const { path } = parse(listSecretsInput, raw)
  const id = path.deployment_id
  const select = { secretSet: { select: { names: true, setBy: true } } }
  const deployment = await ctx.db.deployment.findFirst({ where: { id, ...liveDeployment(ctx) }, select })
  if (!deployment) throw new NotFoundError('Deployment', id)
  const origins = originsOf(deployment.secretSet)
  return (deployment.secretSet?.names ?? []).map((name) => ({ name, origin: origins.get(name) ?? null }))
}
