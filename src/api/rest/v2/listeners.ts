/** Operations on listeners (docs/api-rules.md#paging, docs/protocol.md). claims.ts has the calls of listeners. */
import { earliest, listenerValidUntil } from '../../../domain/deployment-status/expiry.ts'
import {
  createInput,
  createListener,
  deleteInput,
  deleteListener,
  updateInput,
  updateListener,
} from '../../../domain/listeners/manage.ts'
import { getInput, getListener, listInput, listListeners } from '../../../domain/listeners/read.ts'
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
      'Available to organizations with a self-hosted enterprise plan. The listener program needs an API key of the role `listener` that was made for this listener.',
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
    ...singleResponse(200, 'A page of listeners.', listenerList, listListeners),
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
      'An absent or null member keeps the stored value. A namespace that contains a deployment can’t be removed.',
    tag,
    input: updateInput,
    ifMatch: true,
    ...singleResponse(200, 'The updated listener.', listener, updateListener),
    errors: [404, 409],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/listeners/{listener_id}',
    operationId: 'deleteListener',
    summary: 'Delete a listener',
    description:
      'The call is refused while a deployment that is not torn down uses the listener. The API keys of the listener are revoked.',
    tag,
    input: deleteInput,
    ifMatch: true,
    ...noContent('The listener is deleted.', deleteListener),
    errors: [404, 409],
  }),
]
