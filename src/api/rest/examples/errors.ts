/** Examples of errors, by schema id and by status. */
import type { ErrorCode } from '../../../domain/errors/errors.ts'
import { ID } from './ids.ts'

const request_id = 'c1f1d9b2-6f0c-4c40-8e0e-0f6f5f3f9a11'

export const ERROR_EXAMPLES = {
  Error: { detail: `Deployment ID ${ID.deployment} not found.`, code: 'NOT_FOUND', request_id },
  ValidationError: {
    detail: [
      {
        loc: ['body', 'source_config', 'resource_spec', 'cpu'],
        msg: 'Must be at most 8.',
        type: 'less_than_equal',
      },
    ],
    code: 'VALIDATION_FAILED',
    request_id,
  },
}

/** The most common error of each status, except 404. */
const ERRORS_BY_STATUS: Record<string, { detail: string; code: ErrorCode }> = {
  400: {
    detail: `Revision ID ${ID.revision} can't be redeployed: it is being built.`,
    code: 'NOT_REDEPLOYABLE',
  },
  401: { detail: 'This API key is not known.', code: 'UNAUTHENTICATED' },
  403: { detail: 'This needs the role deployer.', code: 'FORBIDDEN' },
  409: { detail: `Revision ID ${ID.revision} has ended already (DEPLOYED).`, code: 'CONFLICT' },
  412: {
    detail: `Deployment ID ${ID.deployment} was changed in the meantime and is now at version 5. Read it again, then repeat the write.`,
    code: 'PRECONDITION_FAILED',
  },
  413: { detail: 'The body is larger than 1 MiB.', code: 'PAYLOAD_TOO_LARGE' },
  415: { detail: 'The body must be application/json.', code: 'UNSUPPORTED_MEDIA_TYPE' },
  429: {
    detail: 'This key exceeded its limit of 500 requests a second (bursts of up to 2000). Try again later.',
    code: 'RATE_LIMITED',
  },
  500: { detail: 'Internal error', code: 'INTERNAL' },
  502: { detail: 'The git provider can’t be reached.', code: 'GITPROVIDER_UNAVAILABLE' },
  503: { detail: 'The database is unavailable. Try again.', code: 'UNAVAILABLE' },
}

/** Undefined: use the example of the schema. */
export function errorExample(status: string): object | undefined {
  const found = ERRORS_BY_STATUS[status]
  return found && { ...found, request_id }
}
