/** Signed links to agents (docs/deployments.md#access). */
import { createDeploymentLink, linkInput } from '../../../domain/deployment-links.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { deploymentLink } from '../responses/deployment.ts'

export const deploymentLinks: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/links',
    operationId: 'createDeploymentLink',
    summary: 'Create a link that opens the agent in a browser',
    description:
      'The link contains a signed token, so the browser needs no key. It ends at `expires_at`, and before that with the key or session that created it. Of a public deployment it is the plain address. Answers 409 before the first deploy.',
    tag: 'Deployments',
    input: linkInput,
    idempotency: 'no-effect',
    ...singleResponse(201, 'The link.', deploymentLink, createDeploymentLink),
    errors: [404, 409],
  }),
]
