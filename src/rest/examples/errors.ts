/** Examples of the two shapes of an error, by the id of the schema they are of. */
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
