/** The successes of mutations that write to a deployment: it and its revision, as the call left them (docs/api-rules.md#errors). */
import type { GraphQLResolveInfo } from 'graphql'
import { readSelected } from '../../../domain/deployments/written.ts'
import type { ReadBack, Written } from '../../../domain/transaction/read-back.ts'
import type { Deployment as DeploymentRow, Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import { builder } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { selectionOf } from '../builder/read-back.ts'
import { Deployment } from './deployment.ts'
import { Revision } from './revision.ts'

/** Each is there if it is selected. */
interface WrittenParts {
  deployment: DeploymentRow | null
  revision: RevisionRow | null
}

/** Reads what is selected of `deployment` and `revision`, and nothing that is not. */
export function readBack(ctx: GraphQLContext, info: GraphQLResolveInfo): ReadBack<Written, WrittenParts> {
  const deployment = selectionOf(ctx, info, 'deployment', 'Deployment')
  const revision = selectionOf(ctx, info, 'revision', 'Revision')
  const workspaceId = ctx.workspace.id
  return (tx, written) => readSelected(tx, written, { workspaceId, deployment, revision })
}

/** A success with the deployment; each mutation has a type of its own, so that it can grow. */
export const withDeployment = (name: string) =>
  builder.objectRef<WrittenParts>(name).implement({
    fields: (t) => ({
      deployment: t.field({
        type: Deployment,
        description: 'As this call left it.',
        resolve: ({ deployment }) => deployment!,
      }),
    }),
  })

/** The same, and the revision that the call made or moved. */
export function withRevision(name: string) {
  const success = withDeployment(name)
  builder.objectField(success, 'revision', (t) =>
    t.field({
      type: Revision,
      description: 'What this call made or moved.',
      resolve: ({ revision }) => revision!,
    }),
  )
  return success
}

/** The same for a call that makes a revision or none. */
export function perhapsWithRevision(name: string) {
  const success = withDeployment(name)
  builder.objectField(success, 'revision', (t) =>
    t.field({
      type: Revision,
      nullable: true,
      description: 'What this call made; null: it made no revision.',
      resolve: ({ revision }) => revision,
    }),
  )
  return success
}
