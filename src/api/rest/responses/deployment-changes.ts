/** Changed deployments (docs/api-rules.md#what-changes-of-deployments), in a page or in an event of a stream. */
import { z } from 'zod'
import type { DeploymentsChange } from '../../../domain/change-feed/log.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { responseSchema } from './response-schema.ts'

export const deploymentsChange = responseSchema(
  { id: 'DeploymentsChange' },
  {
    cursor: z.string().describe('Pass it as `after` to continue. In a stream it is the `id` of the event.'),
    deployment_ids: z
      .array(uuid)
      .describe(
        'The changed deployments, each listed once. A deployment that answers 404 is deleted. The list is empty if nothing has changed, and in the first answer to a call without `after`.',
      ),
  },
  ({ deploymentIds }: DeploymentsChange) => ({ deploymentIds: [...deploymentIds] }),
)
