/** Operations on revisions (docs/api-rules.md#paging, docs/deployments.md#revisions-and-rollouts). */
import { getRevisionDetails, revisionDetailsInput } from '../../../domain/deployments/revision-details.ts'
import { createRevision, updateInput } from '../../../domain/deployments/update.ts'
import { compareInput, compareRevisions } from '../../../domain/revisions/compare-revisions.ts'
import { getRevision, getRevisionInput, listRevisions, listRevisionsInput } from '../../../domain/revisions/read.ts'
import {
  interruptInput,
  interruptRevision,
  redeployInput,
  redeployRevision,
} from '../../../domain/rollouts/redeploy.ts'
import { cacheable } from '../framework/cached-responses.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { revision, revisionList } from '../responses/revision.ts'
import { revisionComparison, revisionDetails } from '../responses/revision-details.ts'
import { writtenDeployment, writtenRevision } from './written.ts'

const tag = 'Revisions'

export const revisions: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/revisions',
    operationId: 'createRevision',
    summary: 'Create a revision',
    description:
      'Takes the same body as the update of a deployment, and always creates a revision. If the body names no part of the source, the new revision uses the source that runs, as an update of secrets does. `If-Match` takes the `ETag` of the deployment.',
    tag,
    input: updateInput,
    ifMatch: true,
    ...writtenRevision(201, 'The new revision.', createRevision),
    errors: [404, 409],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/revisions',
    operationId: 'listRevisions',
    summary: "List a deployment's revisions, newest first",
    tag,
    input: listRevisionsInput,
    ...singleResponse(200, 'A page of revisions.', revisionList, listRevisions),
    ...cacheable({}),
    errors: [404],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}',
    operationId: 'getRevision',
    summary: 'Get a revision',
    tag,
    input: getRevisionInput,
    ...singleResponse(200, 'The revision.', revision, getRevision),
    ...cacheable({ exceptWithQuery: ['wait'] }),
    errors: [404],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/details',
    operationId: 'getRevisionDetails',
    summary: 'Get the details of a revision',
    description:
      'The details are the steps of the revision, its position in the queue, whether it can be redeployed, and what it runs with.',
    tag,
    input: revisionDetailsInput,
    ...singleResponse(200, 'The details.', revisionDetails, getRevisionDetails),
    errors: [404],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/compare',
    operationId: 'compareRevisions',
    summary: 'Compare two revisions of a deployment',
    tag,
    input: compareInput,
    ...singleResponse(200, 'The differences.', revisionComparison, compareRevisions),
    errors: [404],
  }),
  operation({
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy',
    operationId: 'redeployRevision',
    summary: 'Redeploy a revision',
    description:
      'The revision becomes the active one if the rollout succeeds. Use it for a rollback. `If-Match` takes the `ETag` of the deployment.',
    tag,
    input: redeployInput,
    ifMatch: true,
    ...writtenDeployment(200, 'The deployment.', redeployRevision),
    errors: [400, 404],
  }),
  operation({
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/interrupt',
    operationId: 'interruptRevision',
    summary: 'Stop a revision that is in progress',
    tag,
    input: interruptInput,
    ...writtenRevision(200, 'The revision.', interruptRevision),
    errors: [404, 409],
  }),
]
