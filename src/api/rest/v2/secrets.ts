/** Operations on secrets of a deployment by name (docs/deployments.md#secrets). */

import { readWritten } from '../../../domain/deployments/read-after-write.ts'
import {
  changeSecrets,
  changeSecretsInput,
  revealSecret,
  revealSecretInput,
} from '../../../domain/deployments/secrets.ts'
import { listSecrets, listSecretsInput } from '../../../domain/secrets/secret-set.ts'
import { handledBy, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { deployment } from '../responses/deployment.ts'
import { REVISION_ID_HEADER, revisionIdHeader } from '../responses/revision.ts'
import { namedSecrets, revealedSecret } from '../responses/secret.ts'

const tag = 'Deployments'

export const secrets: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/secrets',
    operationId: 'listSecrets',
    summary: 'List the names of the secrets of a deployment, when each was set, and by whom',
    tag,
    input: listSecretsInput,
    ...singleResponse(200, 'All secrets, without values.', namedSecrets, listSecrets),
    errors: [404],
  }),
  operation({
    method: 'PATCH',
    path: '/v2/deployments/{deployment_id}/secrets',
    operationId: 'setSecrets',
    summary: 'Set and unset secrets of a deployment by their names',
    description:
      'Other secrets are not changed, so concurrent changes of them are kept. One call creates one revision. It keeps the source and build of the base revision, as a PATCH of `secrets` alone does. A call with nothing to set or unset does nothing.',
    tag,
    input: changeSecretsInput,
    ifMatch: true,
    responses: {
      200: { description: 'The deployment after this call.', schema: deployment, headers: REVISION_ID_HEADER },
    },
    errors: [404, 409],
    ...handledBy(
      (ctx, raw) => changeSecrets(ctx, raw, readWritten),
      ({ deployment, revisionId }) => ({ status: 200, body: deployment, headers: revisionIdHeader(revisionId) }),
    ),
  }),
  operation({
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/secrets/{name}/reveal',
    operationId: 'revealSecret',
    summary: 'Reveal the value of one secret',
    description:
      'Needs `secrets:read`. A session can read values only with this call. Each call adds the event `secret.revealed` with the name of the secret and its reader. More calls in a minute than `REVEALS_PER_MINUTE` are answered 429.',
    tag,
    input: revealSecretInput,
    idempotency: 'no-effect',
    headers: { 'cache-control': 'no-store' },
    ...singleResponse(200, 'The secret.', revealedSecret, revealSecret),
    errors: [404],
  }),
]
