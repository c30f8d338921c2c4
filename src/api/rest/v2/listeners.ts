/** Listeners over REST (docs/api-rules.md#paging, docs/protocol.md). What a listener itself calls is in claims.ts. */
import { earliest, listenerValidUntil } from '../../../domain/deployment-status/expiry.ts'
import { createInput, createListener } from '../../../domain/listeners/create.ts'
import { deleteInput, deleteListener } from '../../../domain/listeners/delete.ts'
import { getInput, getListener, listInput, listListeners } from '../../../domain/listeners/read.ts'
import { updateInput, updateListener } from '../../../domain/listeners/update.ts'
import { cacheable } from '../framework/cached-responses.ts'
import { noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { listener, listenerList } from '../responses/listener.ts'

const tag = 'Listeners'

const pageValidUntil = ({ resources }: Awaited<ReturnType<typeof listListeners>>, now: Date) =>
  earliest(resources.map((one) => listenerValidUntil(one, now)))

export const listeners: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/listeners',
    operationId: 'createListener',
    summary: 'Register a listener',
    description:
      'Only for organizations with a self-hosted enterprise plan. The program that does its work needs an API key of the role `listener`, made for this listener.',
    tag,
    input: createInput,
    ...singleResponse(201, 'The listener.', listener, createListener),
    errors: [409],
  }),
  operation({
    method: 'GET',
    path: '/v2/listeners',
    operationId: 'listListeners',
    summary: 'List listeners, newest first',
    tag,
    input: listInput,
    ...singleResponse(200, 'A page.', listenerList, listListeners),
    ...cacheable({ validUntil: pageValidUntil, showsLastSeen: true }),
    errors: [],
  }),
  operation({
    method: 'GET',
    path: '/v2/listeners/{listener_id}',
    operationId: 'getListener',
    summary: 'Get a listener',
    tag,
    input: getInput,
    ...singleResponse(200, 'The listener.', listener, getListener),
    ...cacheable({ validUntil: listenerValidUntil, showsLastSeen: true }),
    errors: [404],
  }),
  operation({
    method: 'PATCH',
    path: '/v2/listeners/{listener_id}',
    operationId: 'updateListener',
    summary: 'Update a listener',
    description:
      'Merges: an absent or null member keeps what is stored. A namespace that a deployment is in cannot be removed.',
    tag,
    input: updateInput,
    ifMatch: true,
    ...singleResponse(200, 'The listener as it is now.', listener, updateListener),
    errors: [404, 409],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/listeners/{listener_id}',
    operationId: 'deleteListener',
    summary: 'Delete a listener',
    description: 'Refused while a deployment uses it that has not been torn down. Its API keys are revoked.',
    tag,
    input: deleteInput,
    ifMatch: true,
    ...noContent('It is gone.', deleteListener),
    errors: [404, 409],
  }),
]
