/** Push tokens of `internal_container` deployments over REST (contract 3). */
import { createPushToken, pushTokenInput } from '../../domain/registry/push-token.ts'
import { type Operation, operation } from '../operation.ts'
import { pushToken } from '../schemas.ts'

export const pushTokens: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/push-token',
    operationId: 'createPushToken',
    summary: 'Create a token that pushes images of a deployment',
    description:
      'Only for internal_container, where a registry is configured. Valid for 15 minutes, for the repository of the deployment and those below it: `docker login HOST -u token -p TOKEN`, push to `registry_url:tag` or `registry_url/name:tag`, then PATCH image_uri.',
    tag: 'Deployments',
    input: pushTokenInput,
    answers: { 200: { means: 'The token and where to push.', schema: pushToken } },
    errors: [404, 409],
    handle: async (ctx, raw) => {
      const { token, registryUrl } = await createPushToken(ctx, raw)
      return { status: 200, body: { token, registry_url: registryUrl } }
    },
  }),
]
