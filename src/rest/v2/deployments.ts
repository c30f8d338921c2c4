/** Deployments over REST (spec 4, contract 3). */
import { createDeployment, createInput } from '../../domain/deployments/create.ts'
import { bulkDeleteInput, deleteDeployment, deleteDeployments, deleteInput } from '../../domain/deployments/delete.ts'
import { getDeployment, getInput, listDeployments, listInput, readWritten } from '../../domain/deployments/read.ts'
import { updateDeployment, updateInput } from '../../domain/deployments/update.ts'
import { type Operation, operation } from '../operation.ts'
import { presentDeployment } from '../present/deployment.ts'
import { REVISION_MADE, revisionHeader } from '../present/revision.ts'
import { bulkDeletion, deployment, deploymentList } from '../schemas.ts'

const tag = 'Deployments'

export const deployments: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/deployments',
    operationId: 'createDeployment',
    summary: 'Create a deployment with its first revision',
    tag,
    input: createInput,
    answers: {
      201: {
        means: 'The deployment. Its latest_revision_id is the first revision.',
        schema: deployment,
        headers: REVISION_MADE,
      },
    },
    errors: [404, 409, 502],
    handle: async (ctx, raw) => {
      const { deployment, revisionId } = await createDeployment(ctx, raw, readWritten)
      return { status: 201, body: presentDeployment(ctx, deployment), headers: revisionHeader(revisionId) }
    },
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments',
    operationId: 'listDeployments',
    summary: 'List deployments, newest first',
    tag,
    input: listInput,
    answers: { 200: { means: 'A page.', schema: deploymentList } },
    errors: [],
    handle: async (ctx, raw) => {
      const { resources, offset } = await listDeployments(ctx, raw)
      return { status: 200, body: { resources: resources.map((view) => presentDeployment(ctx, view)), offset } }
    },
  }),
  operation({
    method: 'DELETE',
    path: '/v2/deployments',
    operationId: 'deleteDeployments',
    summary: 'Delete up to 100 deployments',
    tag,
    input: bulkDeleteInput,
    answers: {
      200: { means: 'All are being deleted.', schema: bulkDeletion },
      207: { means: 'Some failed: see each result.', schema: bulkDeletion },
    },
    errors: [],
    handle: async (ctx, raw) => {
      const results = await deleteDeployments(ctx, raw)
      return {
        status: results.some((result) => result.detail !== null) ? 207 : 200,
        body: {
          results: results.map(({ deploymentId, status, detail }) => ({ deployment_id: deploymentId, status, detail })),
        },
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
    answers: { 200: { means: 'The deployment.', schema: deployment } },
    errors: [404],
    handle: async (ctx, raw) => ({ status: 200, body: presentDeployment(ctx, await getDeployment(ctx, raw)) }),
  }),
  operation({
    method: 'PATCH',
    path: '/v2/deployments/{deployment_id}',
    operationId: 'updateDeployment',
    summary: 'Update a deployment',
    description:
      'Merges: an absent or null member keeps what is stored. A non-null repo_ref, graph_config_path, image_uri, source_tarball_path or secrets makes a new revision. Secrets alone keep what runs: their revision is of the newest rollout that is open, else of the active revision, else of the latest, with its commit and its build.',
    tag,
    input: updateInput,
    answers: { 200: { means: 'The deployment as this call left it.', schema: deployment, headers: REVISION_MADE } },
    errors: [404, 409],
    handle: async (ctx, raw) => {
      const { deployment, revisionId } = await updateDeployment(ctx, raw, readWritten)
      return { status: 200, body: presentDeployment(ctx, deployment), headers: revisionHeader(revisionId) }
    },
  }),
  operation({
    method: 'DELETE',
    path: '/v2/deployments/{deployment_id}',
    operationId: 'deleteDeployment',
    summary: 'Delete a deployment',
    description: 'Its name is free at once. It can be read, as AWAITING_DELETE, until it has been torn down.',
    tag,
    input: deleteInput,
    answers: { 204: { means: 'It is being deleted.', schema: null } },
    errors: [404],
    handle: async (ctx, raw) => {
      await deleteDeployment(ctx, raw)
      return { status: 204, body: null }
    },
  }),
]
