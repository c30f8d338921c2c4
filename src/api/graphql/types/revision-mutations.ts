/** What is done with revisions: make one, run one again, stop one. */

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
      'Changes the deployment like updateDeployment, and makes a new revision whatever is said: where that names no part of the source, one of what runs.',
    errors: { types: [NotFoundError, ConflictError, PreconditionFailedError] },
    args: { input: t.arg({ type: create.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => createRevision(ctx, create.raw(input), readBack(ctx, info)),
  }),
  redeployRevision: t.field({
    type: withRevision('RedeployRevisionSuccess'),
    description: 'Runs the revision again and makes it the active one when it succeeds: this is the rollback.',
    errors: { types: [NotFoundError, NotRedeployableError, PreconditionFailedError] },
    args: { input: t.arg({ type: redeploy.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => redeployRevision(ctx, redeploy.raw(input), readBack(ctx, info)),
  }),
  interruptRevision: t.field({
    type: withRevision('InterruptRevisionSuccess'),
    description: 'Stops the revision at once. What serves goes on serving.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: interrupt.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => interruptRevision(ctx, interrupt.raw(input), readBack(ctx, info)),
  }),
}))
