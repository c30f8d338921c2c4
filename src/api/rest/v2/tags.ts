/** Operations on tags (docs/deployments.md#tags). */

import { z } from 'zod'
import { uuid } from '../../../domain/parsing/fields.ts'
import {
  listDeploymentTags,
  listDeploymentTagsInput,
  listInput,
  listTags,
  readWrittenTags,
  setDeploymentTags,
  setTagsInput,
} from '../../../domain/tags.ts'
import type { Tag } from '../../../domain/values/row-types.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { pageSchema, responseSchema, time } from '../responses/response-schema.ts'

const tagResponse = responseSchema(
  { id: 'Tag' },
  {
    id: uuid.describe('The id for the filter `tag_value_ids`.'),
    key: z.string(),
    value: z.string(),
    created_at: time,
  },
)

const tagList = pageSchema('TagList', tagResponse)

const deploymentTags = responseSchema(
  { id: 'DeploymentTags' },
  { resources: z.array(tagResponse) },
  (resources: readonly Tag[]) => ({ resources }),
)

const tag = 'Deployments'

export const tags: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/tags',
    operationId: 'listTags',
    summary: 'List the tags of the workspace, newest first',
    tag,
    input: listInput,
    ...singleResponse(200, 'A page of tags.', tagList, listTags),
    errors: [],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/tags',
    operationId: 'listDeploymentTags',
    summary: 'List the tags of a deployment, sorted by key and value',
    tag,
    input: listDeploymentTagsInput,
    ...singleResponse(200, 'All tags of the deployment.', deploymentTags, listDeploymentTags),
    errors: [404],
  }),
  operation({
    method: 'PUT',
    path: '/v2/deployments/{deployment_id}/tags',
    operationId: 'setDeploymentTags',
    summary: 'Replace the tags of a deployment',
    description:
      'Missing tags are created in the workspace. The call makes no revision. `If-Match` takes the `ETag` of the deployment.',
    tag,
    input: setTagsInput,
    ifMatch: true,
    ...singleResponse(200, 'All tags of the deployment.', deploymentTags, (ctx, raw) =>
      setDeploymentTags(ctx, raw, readWrittenTags),
    ),
    errors: [404, 409],
  }),
]
