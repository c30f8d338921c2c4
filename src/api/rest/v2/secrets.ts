/** Secrets of a deployment by their names, over REST (docs/deployments.md#secrets). */
import { changeSecrets, changeSecretsInput } from '../../../domain/deployments/change-secrets.ts'
import { readWritten } from '../../../domain/deployments/read-after-write.ts'
import { revealSecret, revealSecretInput } from '../../../domain/deployments/reveal-secret.ts'
import { listSecrets, listSecretsInput } from '../../../domain/secrets/list.ts'
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
    summary: 'List the secrets of a deployment: names, when each was set, and by whom',
    tag,
    input: listSecretsInput,
    ...singleResponse(200, 'All of them, without values.', namedSecrets, listSecrets),
    errors: [404],
  }),
  operation({
    method: 'PATCH',
    path: '/v2/deployments/{deployment_id}/secrets',
    operationId: 'setSecrets',
    summary: 'Set and unset secrets of a deployment by their names',
    description:
      'All others stay, whoever changes them meanwhile. What is set and unset together makes one revision, of what runs or is about to and without a build, as a PATCH of `secrets` alone does; with nothing to set or unset nothing happens.',
    tag,
    input: changeSecretsInput,
    ifMatch: true,
    responses: {
      200: { description: 'The deployment as this call left it.', schema: deployment, headers: REVISION_ID_HEADER },
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
      'Needs `secrets:read`. The only way to a value over a session. Who has looked at which stands in the log of events, as `secret.revealed`. So many a minute (`REVEALS_PER_MINUTE`); more are a 429.',
    tag,
    input: revealSecretInput,
    idempotency: 'no-effect',
    headers: { 'cache-control': 'no-store' },
    ...singleResponse(200, 'The secret.', revealedSecret, revealSecret),
    errors: [404],
  }),
]
