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
export const withDeployment = (name: string, revision?: { nullable: boolean; description: string }) =>
  builder.objectRef<WrittenParts>(name).implement({
    fields: (t) => ({
      deployment: t.field({
        type: Deployment,
        description: 'The deployment after this call.',
        resolve: (written) => written.deployment!,
      }),
      ...(revision && { revision: t.field({ type: Revision, ...revision, resolve: (written) => written.revision! }) }),
    }),
  })

export const withRevision = (name: string) =>
  withDeployment(name, { nullable: false, description: 'The revision that this call created or changed.' })

/** For a call that may create a revision. */
export const withOptionalRevision = (name: string) =>
  withDeployment(name, {
    nullable: true,
    description: 'The revision that this call created. Null: it created none.',
  })
