/** Addresses for uploads over REST (spec 4, contract 3). The call has two paths, for older clients. */
import { createUploadUrl, uploadUrlInput } from '../../domain/uploads/create-url.ts'
import { type Operation, operation } from '../operation.ts'
import { uploadUrl } from '../schemas.ts'

const both = [
  { base: '/v2/deployments', operationId: 'createUploadUrl' },
  { base: '/deployments', operationId: 'createUploadUrlUnversioned' },
] as const

export const uploadUrls: Operation[] = both.map(({ base, operationId }) =>
  operation({
    method: 'POST',
    path: `${base}/{deployment_id}/upload-url`,
    operationId,
    summary: 'Get an address for the upload of a source tarball',
    description:
      'PUT a gzip tarball of at most 200 MB to `upload_url`, then set `source_tarball_path` to `object_path` by a PATCH. Only for internal_source deployments.',
    tag: 'Deployments',
    input: uploadUrlInput,
    answers: { 200: { means: 'Where to upload to.', schema: uploadUrl } },
    errors: [404, 409],
    handle: async (ctx, raw) => {
      const { uploadUrl, objectPath } = await createUploadUrl(ctx, raw)
      return { status: 200, body: { upload_url: uploadUrl, object_path: objectPath } }
    },
  }),
)
