/** Operations on API keys (docs/api-rules.md#who-is-calling). */
import { type KeyView, listInput, listKeys } from '../../../domain/keys/key.ts'
import { createInput, createKey, revokeInput, revokeKey, updateInput, updateKey } from '../../../domain/keys/manage.ts'
import { noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { apiKey, apiKeyList, createdApiKey } from '../responses/api-key.ts'

const tag = 'API keys'

export const apiKeys: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/keys',
    operationId: 'createApiKey',
    summary: 'Create an API key',
    description: 'The key belongs to the workspace of the call. Needs the role `admin`.',
    tag,
    input: createInput,
    headers: { 'cache-control': 'no-store' },
    responses: { 201: { description: 'The key with its text.', schema: createdApiKey } },
    errors: [404],
    handle: async (ctx, raw) => ({ status: 201, body: await createKey(ctx, raw) }),
    // the stored answer of a call with an Idempotency-Key has no text
    present: (row: KeyView) => ({ status: 201, body: { row, text: null } }),
  }),
  operation({
    method: 'GET',
    path: '/v2/keys',
    operationId: 'listApiKeys',
    summary: 'List the API keys that can act in the workspace, newest first',
    description:
      'The list includes expired and revoked keys. Admins see all keys. Other callers see their own: the key of the call, and the keys of logins that they approved.',
    tag,
    input: listInput,
    ...singleResponse(200, 'A page of API keys.', apiKeyList, listKeys),
    errors: [],
  }),
  operation({
    method: 'PATCH',
    path: '/v2/keys/{api_key_id}',
    operationId: 'updateApiKey',
    summary: 'Change the owner of an API key',
    description: 'Needs the role `admin`. A key without an owner may set its own.',
    tag,
    input: updateInput,
    ...singleResponse(200, 'The updated key.', apiKey, updateKey),
    errors: [404],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/keys/{api_key_id}',
    operationId: 'revokeApiKey',
    summary: 'Revoke an API key immediately',
    description:
      'Open calls and streams of the key end too. The key stays in the list. A repeated call changes nothing. Also revokes the keys of logins that this key approved. Needs the role `admin`, or a key’s own id, or the key of a login that you approved.',
    tag,
    input: revokeInput,
    ...noContent('The key is revoked.', revokeKey),
    errors: [404],
  }),
]
