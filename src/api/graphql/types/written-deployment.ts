/**
 * Results of mutations that write a deployment: the deployment and its revision right after the write
 * (docs/api-rules.md#errors).
 */
import type { GraphQLResolveInfo } from 'graphql'
import { readSelected } from '../../../domain/deployments/read-after-write.ts'
import type { ReadBack, Written } from '../../../domain/transaction/once.ts'
import type { Deployment as DeploymentRow, Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import { builder } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { selectionOf } from '../builder/read-back.ts'
import { Deployment } from './deployment.ts'
import { Revision } from './revision.ts'

/** Each part is read only if it is selected. */
interface WrittenParts {
  deployment: DeploymentRow | null
  revision: RevisionRow | null
}

/** Reads the selected fields of `deployment` and `revision`. */
export function readBack(ctx: GraphQLContext, info: GraphQLResolveInfo): ReadBack<Written, WrittenParts> {
  const deployment = selectionOf(ctx, info, 'deployment', 'Deployment')
  const revision = selectionOf(ctx, info, 'revision', 'Revision')
  return (tx, written) => readSelected(tx, written, { deployment, revision })
}

/** A result with the deployment. Each mutation has its own type, so that it can get more fields. */
export const withDeployment = (name: string) =>
  builder.objectRef<WrittenParts>(name).implement({
    fields: (t) => ({
      deployment: t.field({
        type: Deployment,
        description: 'The deployment after this call.',
        resolve: ({ deployment }) => deployment!,
      }),
    }),
  })

/** The same, with the revision that the call created or changed. */
export function withRevision(name: string) {
  const success = withDeployment(name)
  builder.objectField(success, 'revision', (t) =>
    t.field({
      type: Revision,
      description: 'The revision that this call created or changed.',
      resolve: ({ revision }) => revision!,
    }),
  )
  return success
}

/** The same for a call that may create a revision. */
export function withOptionalRevision(name: string) {
  const success = withDeployment(name)
  builder.objectField(success, 'revision', (t) =>
    t.field({
      type: Revision,
      nullable: true,
      description: 'The revision that this call created. Null: it created none.',
      resolve: ({ revision }) => revision,
    }),
  )
  return success
}
