/** Which deployments show something new (docs/api-rules.md#what-changes-of-deployments): of a page and of each message of a stream. */
import { z } from 'zod'
import type { DeploymentsChange } from '../../../domain/change-feed/page.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { responseSchema } from './response-schema.ts'

export const deploymentsChange = responseSchema(
  { id: 'DeploymentsChange' },
  {
    cursor: z.string().describe('The `after` to go on with, and the `id` of a stream.'),
    deployment_ids: z
      .array(uuid)
      .describe(
        'Each once. Those that are a 404 are gone. None: nothing is new; or it is where one begins without `after`.',
      ),
  },
  ({ deploymentIds }: DeploymentsChange) => ({ deploymentIds: [...deploymentIds] }),
)
