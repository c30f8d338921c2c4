/**
 * Changes secrets of a deployment by their names (docs/deployments.md#secrets): some are set, some taken away, all others stay as they are
 * when it is done. Nobody sends values that he has not changed, so people who change different ones at once lose none.
 */
import { z } from 'zod'
import { rejectIfAny } from '../errors/errors.ts'
import { requireVersion } from '../errors/precondition.ts'
import { optional } from '../parsing/fields.ts'
import { parse } from '../parsing/parse.ts'
import { edit } from '../repositories/deployment.ts'
import { factsOf } from '../repositories/locked-aggregate.ts'
import { type LockedDeployment, lockDeployment, refuseDeleted } from '../repositories/locks.ts'
import { baseOf, sourceAfter } from '../rollouts/base-revision.ts'
import { rollOut } from '../rollouts/rollout.ts'
import { applyChange, changeViolations, secretsDiffer } from '../secrets/change.ts'
import { originsAfter } from '../secrets/origins.ts'
import { openSecrets, storeSecrets } from '../secrets/secret-set.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import type { RequestContext, Tx } from '../transaction/context.ts'
import { type Written, writeVerb } from '../transaction/read-back.ts'
import { deploymentPath, type SecretReference, secret } from '../values/shapes.ts'

const unset = z.array(z.string()).max(1000)

export const changeSecretsInput = z.object({
  path: deploymentPath,
  body: z
    .object({
      set: optional(z.array(secret).max(1000)).describe('New ones, and new values of those that there are.'),
      unset: optional(unset).describe('Names of those that are taken away.'),
    })
    .meta({ id: 'SecretsChange' }),
})

/** The half of it that only takes away. */
export const unsetSecretsInput = z.object({
  path: deploymentPath,
  body: z.object({ unset: unset.describe('Names of those that are taken away.') }),
})

/** What is needed to know, the answer included. */
const FACTS = { shown: true }

/**
 * Sets and unsets, together in one revision, of what runs or is about to and without a build, as a PATCH of secrets alone makes it; with
 * nothing to set or unset nothing happens. Answers what `read` reads in its transaction, by default the ids. Role: deployer.
 */
export const changeSecrets = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(changeSecretsInput, raw)
  const id = path.deployment_id
  const change = { set: body.set ?? [], unset: body.unset ?? [] }
  const work = async (tx: Tx, deployment: LockedDeployment) => {
    requireVersion(raw.ifMatch, 'Deployment', id, deployment)
    return read(tx, { deploymentId: id, revisionId: await apply(ctx, tx, deployment, change) })
  }
  return lockDeployment(ctx, id, work, FACTS)
})

type Change = Parameters<typeof changeViolations>[0]

/** Returns the id of the revision that it made, or null. */
async function apply(
  ctx: RequestContext,
  tx: Tx,
  deployment: LockedDeployment,
  change: Change,
): Promise<string | null> {
  const { revisions, secretSet: set } = await factsOf(tx, deployment, FACTS)
  const references = (deployment.secretReferences ?? []) as unknown as SecretReference[]
  rejectIfAny(changeViolations(change, { names: set?.names ?? [], references }))
  refuseDeleted(deployment)
  if (change.set.length === 0 && change.unset.length === 0) return null

  const before = { set, secrets: openSecrets(ctx.keyring, set) }
  const { secrets, given } = applyChange(before.secrets, change)
  const actor = actorOf(ctx.actor)
  const origins = originsAfter(before, secrets, { at: tx.now(), by: actor }, given)
  const secretSetId = storeSecrets(tx, ctx.keyring, { deploymentId: deployment.id, origins }, secrets)
  const changed = secretsDiffer(before.secrets, secrets) ? ['secrets'] : []
  const said = { what: 'UPDATED', changed } as const
  const edited = edit(tx, deployment, { ...said, actor }, { secretSetId })
  tx.emit({
    workspaceId: deployment.workspaceId,
    type: 'deployment.updated',
    changed,
    deploymentId: deployment.id,
    actor,
  })
  const source = sourceAfter(baseOf(deployment, revisions, {}), edited, {})
  return rollOut(ctx, tx, edited, source, { trigger: 'secrets', change: said })
}
