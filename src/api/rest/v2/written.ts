/** For operations that answer with the deployment or revision that they wrote. */
import { readWritten, readWrittenRevision } from '../../../domain/deployments/read-after-write.ts'
import type { WriteVerb, Written } from '../../../domain/transaction/once.ts'
import { handledBy } from '../framework/operation.ts'
import { deployment } from '../responses/deployment.ts'
import type { ResponseHeaders } from '../responses/response-schema.ts'
import { revision } from '../responses/revision.ts'

/** Identifies the revision of this call, even if concurrent calls create others. */
const headers = {
  'X-Revision-Id': {
    type: 'string',
    format: 'uuid',
    description: 'The revision that this call created or changed. The header is absent if there is none.',
  },
} as const satisfies ResponseHeaders

export function writtenDeployment<const S extends number>(status: S, description: string, write: WriteVerb<Written>) {
  return {
    responses: { [status]: { description, schema: deployment, headers } },
    ...handledBy(
      (ctx, raw) => write(ctx, raw, readWritten),
      ({ deployment, revisionId }) => ({
        status,
        body: deployment,
        headers: revisionId === null ? {} : { 'X-Revision-Id': revisionId },
      }),
    ),
  }
}

export function writtenRevision<const S extends number>(status: S, description: string, write: WriteVerb<Written>) {
  return {
    responses: { [status]: { description, schema: revision, headers } },
    ...handledBy(
      (ctx, raw) => write(ctx, raw, readWrittenRevision),
      (written) => ({ status, body: written, headers: { 'X-Revision-Id': written.id } }),
    ),
  }
}
