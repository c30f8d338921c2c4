/** Mutations of revisions: create, redeploy and interrupt. */

import { createRevision, updateInput } from '../../../domain/deployments/update.ts'
import {
  ConflictError,
  NotFoundError,
  NotRedeployableError,
  PreconditionFailedError,
} from '../../../domain/errors/errors.ts'
import { interruptInput, interruptRevision } from '../../../domain/rollouts/interrupt.ts'
import { redeployInput, redeployRevision } from '../../../domain/rollouts/redeploy.ts'
import { builder } from '../builder/builder.ts'
import { verbInput } from '../builder/verb-input.ts'
import { readBack, withRevision } from './written-deployment.ts'

const create = verbInput('CreateRevisionInput', updateInput, 'version')
const redeploy = verbInput('RedeployRevisionInput', redeployInput, 'version')
const interrupt = verbInput('InterruptRevisionInput', interruptInput)

builder.mutationFields((t) => ({
  createRevision: t.field({
    type: withRevision('CreateRevisionSuccess'),
    description:
      'Changes the deployment like updateDeployment and always creates a new revision. If the input has no part of the source, the revision reuses what runs.',
    errors: { types: [NotFoundError, ConflictError, PreconditionFailedError] },
    args: { input: t.arg({ type: create.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => createRevision(ctx, create.raw(input), readBack(ctx, info)),
  }),
  redeployRevision: t.field({
    type: withRevision('RedeployRevisionSuccess'),
    description: 'Runs the revision again and makes it active on success. Use it for rollbacks.',
    errors: { types: [NotFoundError, NotRedeployableError, PreconditionFailedError] },
    args: { input: t.arg({ type: redeploy.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => redeployRevision(ctx, redeploy.raw(input), readBack(ctx, info)),
  }),
  interruptRevision: t.field({
    type: withRevision('InterruptRevisionSuccess'),
    description: 'Stops the revision immediately. The serving revision is not affected.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: interrupt.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => interruptRevision(ctx, interrupt.raw(input), readBack(ctx, info)),
  }),
}))
