/** Where clients send what is deployed: tarballs to an upload URL, images to the registry with a push token (docs/deployments.md#deployments). */
import { createPushToken, pushTokenInput } from '../../../domain/sources/registry/push-token.ts'
import { createUploadUrl, uploadUrlInput } from '../../../domain/sources/uploads/create-upload-url.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { pushToken, uploadUrl } from '../responses/deployment.ts'

const tag = 'Deployments'

/** Two paths, for older clients. */
const uploadPaths = [
  { base: '/v2/deployments', operationId: 'createUploadUrl' },
  { base: '/deployments', operationId: 'createUploadUrlUnversioned' },
] as const

const uploads = uploadPaths.map(({ base, operationId }) =>
  operation({
    method: 'POST',
    path: `${base}/{deployment_id}/upload-url`,
    operationId,
    summary: 'Get an address for the upload of a source tarball',
    description:
      'PUT a gzip tarball of at most 200 MB to `upload_url`, then set `source_tarball_path` to `object_path` by a PATCH. Only for internal_source deployments.',
    tag,
    input: uploadUrlInput,
    idempotency: 'no-effect',
    ...singleResponse(200, 'Where to upload to.', uploadUrl, createUploadUrl),
    errors: [404, 409],
  }),
)

const push = operation({
  method: 'POST',
  path: '/v2/deployments/{deployment_id}/push-token',
  operationId: 'createPushToken',
  summary: 'Create a token that pushes images of a deployment',
  description:
    'Only for internal_container, where a registry is configured. Valid for 15 minutes, for the repository of the deployment and those below it: `docker login HOST -u token -p TOKEN`, push to `registry_url:tag` or `registry_url/name:tag`, then PATCH image_uri.',
  tag,
  input: pushTokenInput,
  idempotency: 'no-effect',
  ...singleResponse(200, 'The token and where to push.', pushToken, createPushToken),
  errors: [404, 409],
})

export const sources: Operation[] = [...uploads, push]
