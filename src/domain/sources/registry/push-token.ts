/**
 * Issues a short-lived token to push images to a deployment's repository and those below it (docs/deployments.md#deployments).
 */
import { z } from 'zod'
import { ConflictError, NotFoundError } from '../../errors/errors.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { repositoryOf } from '../../ports/registry.ts'
import { refuseDeleted } from '../../repositories/locks.ts'
import { liveDeployment, requireRole } from '../../transaction/access.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { deploymentPath } from '../../values/shapes.ts'

export const pushTokenInput = z.object({ path: deploymentPath })

/** long enough for a large image */
const PUSH_TOKEN_SECONDS = 15 * 60

export interface PushToken {
  /** secret: never log it */
  token: string
  /** `host/repository`: append `:tag`, or `/name:tag` for a repository below */
  registryUrl: string
}

/** Role: deployer. Throws ConflictError for other sources, a deleted deployment, or without a configured registry. */
export async function createPushToken(ctx: RequestContext, raw: RawInput): Promise<PushToken> {
  requireRole(ctx, 'deployer')
  const { path } = parse(pushTokenInput, raw)
  const id = path.deployment_id
  const deployment = await ctx.db.deployment.findFirst({ where: { id, ...liveDeployment(ctx) } })
  if (!deployment) throw new NotFoundError('Deployment', id)
  refuseDeleted(deployment)
  if (deployment.source !== 'internal_container')
    throw new ConflictError(
      `Only for internal_container sources; the source of deployment ID ${id} is ${deployment.source}.`,
    )
  const { registry } = ctx
  if (!registry)
    throw new ConflictError(
      'No container registry is configured here: set REGISTRY_URL, REGISTRY_TOKEN_KEY and REGISTRY_TOKEN_CERTIFICATE.',
    )
  const repository = repositoryOf(deployment)
  const token = await registry.sign(ctx.actor.subject, [{ repository, actions: ['pull', 'push'] }], PUSH_TOKEN_SECONDS)
  return { token, registryUrl: `${registry.host}/${repository}` }
}
