/** Listeners require the self-hosted enterprise plan (docs/api-rules.md#who-is-calling, docs/api-rules.md#errors). */
import type { Plan } from '../../generated/prisma/enums.ts'
import { ForbiddenError } from '../errors/errors.ts'
import type { RequestContext } from '../transaction/context.ts'

export const hasListeners = (plan: Plan): boolean => plan === 'self_hosted_enterprise'

/** Throws ForbiddenError (PLAN_REQUIRED). */
export function requireListenerPlan(ctx: RequestContext): void {
  if (hasListeners(ctx.workspace.plan)) return
  throw new ForbiddenError(
    `Listeners cannot be created for workspace ID '${ctx.workspace.id}'. ` +
      'Creating listeners is only allowed for organizations with self-hosted enterprise plans.',
    'PLAN_REQUIRED',
  )
}
