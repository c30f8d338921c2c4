/** Operations on deployments (docs/api-rules.md#paging, docs/deployments.md#deployments). */

import { createDeploymentLink, linkInput } from '../../../domain/deployment-links.ts'
import { deploymentValidUntil, earliest } from '../../../domain/deployment-status/expiry.ts'
import { createDeployment, createInput } from '../../../domain/deployments/create.ts'
import {
  bulkDeleteInput,
  deleteDeployment,
  deleteDeployments,
  deleteInput,
} from '../../../domain/deployments/delete.ts'
import {
  type DeploymentView,
  getDeployment,
  getInput,
  listDeployments,
  listInput,
} from '../../../domain/deployments/read.ts'
import { readWritten } from '../../../domain/deployments/read-after-write.ts'
import { restartDeployment, restartInput, updateDeployment, updateInput } from '../../../domain/deployments/update.ts'
import { seesValues } from '../../../domain/transaction/access.ts'
import type { ReadContext } from '../../../domain/transaction/context.ts'
import { cacheable } from '../framework/cached-responses.ts'
import { handledBy, noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { bulkDeletion, deployment, deploymentLink, deploymentList } from '../responses/deployment.ts'
import { writtenDeployment } from './written.ts'

const tag = 'Deployments'

type Page = Awaited<ReturnType<typeof listDeployments>>

const hasSecrets = ({ secretSet }: DeploymentView, { actor }: ReadContext): boolean =>
  seesValues(actor) && (secretSet?.names.length ?? 0) > 0
const pageHasSecrets = ({ resources }: Page, ctx: ReadContext) => resources.some((one) => hasSecrets(one, ctx))
const pageValidUntil = ({ resources }: Page, now: Date) =>
  earliest(resources.map((one) => deploymentValidUntil(one, now)))

export const deployments: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/deployments',
    operationId: 'createDeployment',
    summary: 'Create a deployment with its first revision',
    tag,
    input: createInput,
    ...writtenDeployment(201, 'The deployment. Its `latest_revision_id` is the first revision.', createDeployment),
    errors: [404, 409, 502],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments',
    operationId: 'listDeployments',
    summary: 'List deployments, newest first',
    tag,
    input: listInput,
    ...singleResponse(200, 'A page of deployments.', deploymentList, listDeployments),
    // with these filters the rows of the page depend on the clock
    ...cacheable({ exceptWithQuery: ['status', 'serving'], validUntil: pageValidUntil, hasSecrets: pageHasSecrets }),
    errors: [],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/deployments',
    operationId: 'deleteDeployments',
    summary: 'Delete up to 100 deployments',
    tag,
    input: bulkDeleteInput,
    idempotency: 'per-item',
    responses: {
      200: { description: 'All the deployments are being deleted.', schema: bulkDeletion },
      207: { description: 'Some deletions failed: see each result.', schema: bulkDeletion },
    },
    errors: [],
    handle: async (ctx, raw) => {
      const results = await deleteDeployments(ctx, raw)
      return {
        status: results.some((result) => result.detail !== null) ? 207 : 200,
        body: results,
      }
    },
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}',
    operationId: 'getDeployment',
    summary: 'Get a deployment',
    tag,
    input: getInput,
    ...singleResponse(200, 'The deployment.', deployment, getDeployment),
    ...cacheable({ exceptWithQuery: ['wait'], validUntil: deploymentValidUntil, hasSecrets }),
    errors: [404],
  }),
  operation({
    method: 'PATCH',
    path: '/v2/deployments/{deployment_id}',
    operationId: 'updateDeployment',
    summary: 'Update a deployment',
    description:
      'An absent or null member keeps the stored value. A non-null `repo_ref`, `graph_config_path`, `image_uri`, `source_tarball_path` or `secrets` creates a new revision. If only secrets change, the new revision keeps the source, commit and build of a base revision: the newest rollout in progress, or else the active revision, or else the latest.',
    tag,
    input: updateInput,
    ifMatch: true,
    ...writtenDeployment(200, 'The deployment after this call.', updateDeployment),
    errors: [404, 409],
  }),
  operation({
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/restart',
    operationId: 'restartDeployment',
    summary: 'Restart the running revision',
    description:
      'Replaces the processes of the active revision by new ones, without a new revision, build or rollout. The old processes serve until the new ones are ready. `restarting` is true until that is done. Answers 409 if no revision runs.',
    tag,
    input: restartInput,
    ifMatch: true,
    responses: { 200: { description: 'The deployment.', schema: deployment } },
    errors: [404, 409],
    ...handledBy(
      (ctx, raw) => restartDeployment(ctx, raw, readWritten),
      ({ deployment }) => ({ status: 200, body: deployment }),
    ),
  }),
  operation({
    method: 'DELETE',
    path: '/v2/deployments/{deployment_id}',
    operationId: 'deleteDeployment',
    summary: 'Delete a deployment',
    description:
      'The name is free immediately. The deployment can be read, with status AWAITING_DELETE, until it is torn down. A repeated call answers 204 for any `If-Match`, because nothing is left to do.',
    tag,
    input: deleteInput,
    ifMatch: true,
    ...noContent('The deployment is being deleted.', deleteDeployment),
    errors: [404],
  }),
]

/** Signed links to agents (docs/deployments.md#access). */
export const deploymentLinks: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/links',
    operationId: 'createDeploymentLink',
    summary: 'Create a link that opens the agent in a browser',
    description:
      'The link contains a signed token, so the browser needs no key. It ends at `expires_at`, and before that with the key or session that created it. Of a public deployment it is the plain address. Answers 409 before the first deploy.',
    tag: 'Deployments',
    input: linkInput,
    idempotency: 'no-effect',
    ...singleResponse(201, 'The link.', deploymentLink, createDeploymentLink),
    errors: [404, 409],
  }),
]
