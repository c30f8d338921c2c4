/** Operations on secrets of a deployment by name (docs/deployments.md#secrets). */
import { z } from 'zod'
import {
  changeSecrets,
  changeSecretsInput,
  revealSecret,
  revealSecretInput,
} from '../../../domain/deployments/secrets.ts'
import { listSecrets, listSecretsInput, type NamedSecret } from '../../../domain/secrets/secret-set.ts'
import { secret } from '../../../domain/values/shapes.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { actor } from '../responses/actor.ts'
import { responseSchema, time } from '../responses/response-schema.ts'
import { writtenDeployment } from './written.ts'

const namedSecret = responseSchema(
  { id: 'NamedSecret' },
  {
    name: z.string(),
    set_at: time.nullable().describe('When the value was set; null if an older server version set it.'),
    set_by: actor
      .nullable()
      .describe('Who set the value, with the name at that time. It is null whenever `set_at` is null.'),
  },
  ({ origin }: NamedSecret) => ({ setAt: origin?.at ?? null, setBy: origin?.by ?? null }),
)

const namedSecrets = responseSchema(
  { id: 'NamedSecretList' },
  { resources: z.array(namedSecret) },
  (resources: readonly NamedSecret[]) => ({ resources }),
)

const revealedSecret = responseSchema({ id: 'RevealedSecret' }, secret.shape)

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
    ...writtenDeployment(200, 'The deployment after this call.', changeSecrets),
    errors: [404, 409],
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
