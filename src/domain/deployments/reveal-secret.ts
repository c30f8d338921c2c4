/**
 * Reveals one secret's value (docs/deployments.md#secrets): the only way for sessions. The event log records the caller
 * before the value is returned.
 */
import { z } from 'zod'
import { DomainError, NotFoundError } from '../errors/errors.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { openSecrets } from '../secrets/secret-set.ts'
import { actorOf, liveDeployment, requireRole, requireSecretsRead } from '../transaction/access.ts'
import { type RequestContext, transaction } from '../transaction/context.ts'
import { deploymentPath, type Secret } from '../values/shapes.ts'

export const revealSecretInput = z.object({
  path: deploymentPath.extend({ name: z.string().describe('The name of the secret.') }),
})

/** Role: viewer, with `secrets:read`. Throws NotFoundError, and RATE_LIMITED after too many calls. */
export async function revealSecret(ctx: RequestContext, raw: RawInput): Promise<Secret> {
  requireRole(ctx, 'viewer')
  requireSecretsRead(ctx)
  const { path } = parse(revealSecretInput, raw)
  const { deployment_id: id, name } = path
  takeReveal(ctx)
  return transaction(ctx, async (tx) => {
    const where = { id, ...liveDeployment(ctx) }
    const deployment = await tx.sql.deployment.findFirst({ where, select: { secretSet: true } })
    if (!deployment) throw new NotFoundError('Deployment', id)
    const found = openSecrets(ctx.keyring, deployment.secretSet).find((secret) => secret.name === name)
    if (!found) throw new NotFoundError('Secret', name, `There is no secret named ${name}.`)
    tx.emit({
      workspaceId: ctx.workspace.id,
      type: 'secret.revealed',
      deploymentId: id,
      subjectId: name,
      actor: actorOf(ctx.actor),
    })
    return found
  })
}

function takeReveal({ reveals, actor, workspace }: RequestContext): void {
  const standing = reveals?.take(`${workspace.organizationId} ${actor.subject}`)
  if (!standing || standing.admitted) return
  throw new DomainError(
    'RATE_LIMITED',
    `This key revealed too many secrets: the limit is ${standing.burst} a minute. Try again later.`,
    { retryAfterSeconds: standing.retryAfterSeconds },
  )
}
