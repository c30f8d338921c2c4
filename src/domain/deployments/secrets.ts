/**
 * Sets and unsets secrets of a deployment by name, and reveals one value (docs/deployments.md#secrets). Callers send only what
 * they change, so concurrent changes of different secrets don't undo each other.
 */
import { z } from 'zod'
import type { SecretSet } from '../../generated/prisma/client.ts'
import { DomainError, NotFoundError, rejectIfAny, requireVersion } from '../errors/errors.ts'
import { optional } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { edit } from '../repositories/deployment.ts'
import { lockedAggregate } from '../repositories/locked-aggregate.ts'
import { type LockedDeployment, lockDeployment, refuseDeleted } from '../repositories/locks.ts'
import { baseOf, rollOut, sourceAfter } from '../rollouts/rollout.ts'
import { applyChange, changeViolations, secretsDiffer } from '../secrets/rules.ts'
import { openSecrets, originsAfter, storeSecrets } from '../secrets/secret-set.ts'
import { actorOf, eventBy, liveDeployment, requireRole, requireSecretsRead } from '../transaction/access.ts'
import { type ReadContext, type RequestContext, type Tx, transaction } from '../transaction/context.ts'
import { type Written, writeVerb } from '../transaction/once.ts'
import { deploymentPath, type Secret, type SecretReference, secret } from '../values/shapes.ts'

const unset = z.array(z.string()).max(1000)

export const changeSecretsInput = z.object({
  path: deploymentPath,
  body: z
    .object({
      set: optional(z.array(secret).max(1000)).describe('Secrets to add, and new values of existing secrets.'),
      unset: optional(unset).describe('Names of the secrets to remove.'),
    })
    .meta({ id: 'SecretsChange' }),
})

export const unsetSecretsInput = z.object({
  path: deploymentPath,
  body: z.object({ unset: unset.describe('Names of the secrets to remove.') }),
})

const AGGREGATE_PARTS = { withSecretsAndIntegration: true }

/**
 * Makes one revision of the running or coming source, without a build, like a PATCH of `secrets` alone. An empty change does
 * nothing. Returns what `read` reads in the transaction, by default the ids. Role: deployer.
 */
export const changeSecrets = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(changeSecretsInput, raw)
  const { deployment_id: id } = path
  const change = { set: body.set ?? [], unset: body.unset ?? [] }
  const work = async (tx: Tx, deployment: LockedDeployment) => {
    requireVersion(raw.ifMatch, 'Deployment', id, deployment)
    const { revisions, secretSet: set } = await lockedAggregate(tx, deployment, AGGREGATE_PARTS)
    const references = (deployment.secretReferences ?? []) as unknown as SecretReference[]
    rejectIfAny(changeViolations(change, { names: set?.names ?? [], references }))
    refuseDeleted(deployment)
    if (change.set.length === 0 && change.unset.length === 0) return read(tx, { deploymentId: id, revisionId: null })
    const { secretSetId, changed } = replaceSecrets(ctx, tx, id, set, (stored) => applyChange(stored, change))
    const deploymentChange = { what: 'UPDATED', changed } as const
    const edited = edit(tx, deployment, { ...deploymentChange, actor: actorOf(ctx.actor) }, { secretSetId })
    tx.emit({ ...eventBy(ctx), type: 'deployment.updated', changed, deploymentId: id })
    const source = sourceAfter(baseOf(deployment, revisions, {}), edited, {})
    const revisionId = await rollOut(ctx, tx, edited, source, { trigger: 'secrets', change: deploymentChange })
    return read(tx, { deploymentId: id, revisionId })
  }
  return lockDeployment(ctx, id, work, AGGREGATE_PARTS)
})

/**
 * Stores a deployment's next secrets, which `next` makes of the stored ones. `given`: names that count as set now, although their
 * values may be the same. `changed`: `secrets` if names or values differ.
 */
export function replaceSecrets(
  ctx: ReadContext,
  tx: Tx,
  deploymentId: string,
  set: SecretSet | null,
  next: (stored: Secret[]) => { secrets: Secret[]; given?: ReadonlySet<string> },
): { secretSetId: string; changed: string[] } {
  const stored = openSecrets(ctx.keyring, set)
  const { secrets, given } = next(stored)
  const origins = originsAfter({ set, secrets: stored }, secrets, { at: tx.now(), by: actorOf(ctx.actor) }, given)
  const secretSetId = storeSecrets(tx, ctx.keyring, { deploymentId, origins }, secrets)
  return { secretSetId, changed: secretsDiffer(stored, secrets) ? ['secrets'] : [] }
}

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
    tx.emit({ ...eventBy(ctx), type: 'secret.revealed', deploymentId: id, subjectId: name })
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
