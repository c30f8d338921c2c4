/** Creates, changes and deletes alert rules (docs/alerts.md). Role: deployer. */
import { z } from 'zod'
import type { AlertRule } from '../../generated/prisma/client.ts'
import { ConflictError, NotFoundError, rejectIfAny, requireVersion, type Violation } from '../errors/errors.ts'
import { changedFields, parse, violationUnless } from '../parsing/parse.ts'
import { toDelete } from '../repositories/locks.ts'
import { eventBy, liveDeployment, requireRole, tenant } from '../transaction/access.ts'
import { type ReadContext, type Tx, transaction } from '../transaction/context.ts'
import { once, writeVerb } from '../transaction/once.ts'
import { createBody, kindOf, rulePath, updateBody } from './rule.ts'

const MAX_RULES = 100

export const createInput = z.object({ body: createBody })

/** Throws NotFoundError for the deployment, ConflictError for too many rules. */
export const createRule = writeVerb<AlertRule>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { body } = parse(createInput, raw)
  const { name, kind, deployment_id: deploymentId } = body
  rejectIfAny(violations(kind, body))
  const { threshold, minutes } = kindOf(kind)
  const workspaceId = ctx.workspace.id
  return transaction(ctx, async (tx) => {
    if (deploymentId != null) {
      const found = await tx.sql.deployment.count({ where: { id: deploymentId, ...liveDeployment(ctx) } })
      if (found === 0) throw new NotFoundError('Deployment', deploymentId)
    }
    if ((await tx.sql.alertRule.count({ where: { workspaceId } })) >= MAX_RULES)
      throw new ConflictError(`A workspace can have at most ${MAX_RULES} alert rules. Delete one first.`)
    const rule = await tx.sql.alertRule.create({
      data: {
        workspaceId,
        name,
        kind,
        deploymentId: deploymentId ?? null,
        threshold: body.threshold ?? threshold?.preset ?? null,
        minutes: body.minutes ?? minutes ?? 0,
        enabled: body.enabled ?? true,
        createdBy: ctx.actor.subject,
      },
    })
    tx.emit({ ...eventBy(ctx), type: 'alert_rule.created', subjectId: rule.id })
    return read(tx, rule)
  })
})

export const updateInput = z.object({ path: rulePath, body: updateBody })

/** A call without changes writes no event. */
export const updateRule = writeVerb<AlertRule>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(updateInput, raw)
  const id = path.alert_rule_id
  return transaction(ctx, async (tx) => {
    const stored = await lockRule(tx, ctx, id)
    requireVersion(raw.ifMatch, 'Alert rule', id, stored)
    rejectIfAny(violations(stored.kind, body))
    const changes = {
      name: body.name ?? undefined,
      threshold: body.threshold ?? undefined,
      minutes: body.minutes ?? undefined,
      enabled: body.enabled ?? undefined,
    }
    const changed = changedFields(stored, changes)
    if (changed.length === 0) return read(tx, stored)
    const data = { ...changes, editVersion: { increment: 1 }, updatedAt: tx.now() }
    const rule = await tx.sql.alertRule.update({ where: { id }, data })
    tx.emit({ ...eventBy(ctx), type: 'alert_rule.updated', changed, subjectId: id })
    return read(tx, rule)
  })
})

export const deleteInput = z.object({ path: rulePath })

/** Its alerts are deleted, too. Open ones get an event. */
export const deleteRule = once<void>(async (ctx, raw) => {
  requireRole(ctx, 'deployer')
  const id = parse(deleteInput, raw).path.alert_rule_id
  await transaction(ctx, async (tx) => {
    const rule = await lockRule(tx, ctx, id)
    requireVersion(raw.ifMatch, 'Alert rule', id, rule)
    const open = await tx.sql.alert.findMany({ where: { ruleId: id, firedAt: { not: null }, resolvedAt: null } })
    await tx.sql.alertRule.delete({ where: { id } })
    for (const { deploymentId } of open)
      tx.emit({
        ...eventBy(ctx),
        type: 'alert.resolved',
        deploymentId,
        subjectId: id,
        message: `${rule.name}: the rule was deleted`,
      })
    tx.emit({ ...eventBy(ctx), type: 'alert_rule.deleted', subjectId: id })
  })
})

async function lockRule(tx: Tx, ctx: ReadContext, id: string): Promise<AlertRule> {
  await tx.sql.$queryRaw`
    SELECT 1 FROM alert_rules WHERE id = ${id}::uuid AND workspace_id = ${ctx.workspace.id}::uuid ${toDelete('alert_rules')}`
  const rule = await tx.sql.alertRule.findFirst({ where: { id, ...tenant(ctx) } })
  if (!rule) throw new NotFoundError('Alert rule', id)
  return rule
}

function violations(
  kind: string,
  {
    threshold: sent,
    minutes: sentMinutes,
  }: { threshold?: number | null | undefined; minutes?: number | null | undefined },
): Violation[] {
  const { threshold, minutes } = kindOf(kind)
  const hasNone = `Rules of the kind ${kind} have none.`
  return [
    ...violationUnless(sent == null || threshold !== null, 'threshold', hasNone),
    ...violationUnless(
      sent == null || threshold === null || (sent >= threshold.min && sent <= threshold.max),
      'threshold',
      `Must be from ${threshold?.min} to ${threshold?.max} for the kind ${kind}.`,
    ),
    ...violationUnless(sentMinutes == null || minutes !== null, 'minutes', hasNone),
  ]
}
