/** Upload URLs for tarballs and push tokens for images (docs/deployments.md#deployments). */
import { createPushToken, pushTokenInput } from '../../../domain/sources/registry-tokens.ts'
import { createUploadUrl, uploadUrlInput } from '../../../domain/sources/uploads.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { pushToken, uploadUrl } from '../responses/deployment.ts'

const tag = 'Deployments'

/** The second path is for older clients. */
const uploadPaths = [
  { base: '/v2/deployments', operationId: 'createUploadUrl' },
  { base: '/deployments', operationId: 'createUploadUrlUnversioned' },
] as const

const uploads = uploadPaths.map(({ base, operationId }) =>
  operation({
    method: 'POST',
    path: `${base}/{deployment_id}/upload-url`,
    operationId,
    summary: 'Get a URL for the upload of a source tarball',
    description:
      'PUT a gzip tarball of at most 200 MB to `upload_url`. Then PATCH the deployment with `object_path` as its `source_tarball_path`. Only for `internal_source` deployments.',
    tag,
    input: uploadUrlInput,
    idempotency: 'no-effect',
    ...singleResponse(200, 'The URL for the upload.', uploadUrl, createUploadUrl),
    errors: [404, 409],
  }),
)

const push = operation({
  method: 'POST',
  path: '/v2/deployments/{deployment_id}/push-token',
  operationId: 'createPushToken',
  summary: 'Create a token to push images of a deployment',
  description:
    'Only for `internal_container` deployments, if a registry is configured. The token is valid for 15 minutes, for the repository of the deployment and the repositories below it. Run `docker login HOST -u token -p TOKEN`, push to `registry_url:tag` or `registry_url/name:tag`, then PATCH `image_uri`.',
  tag,
  input: pushTokenInput,
  idempotency: 'no-effect',
  ...singleResponse(200, 'The token and the repository.', pushToken, createPushToken),
  errors: [404, 409],
})

export const sources: Operation[] = [...uploads, push]
