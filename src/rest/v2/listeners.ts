/** Listeners over REST (spec 4, contract 7). What a listener itself calls is in claims.ts. */
import { createInput, createListener } from '../../domain/listeners/create.ts'
import { deleteInput, deleteListener } from '../../domain/listeners/delete.ts'
import { getInput, getListener, listInput, listListeners } from '../../domain/listeners/read.ts'
import { updateInput, updateListener } from '../../domain/listeners/update.ts'
import { type Operation, operation } from '../operation.ts'
import { presentListener } from '../present/listener.ts'
import { listener, listenerList } from '../schemas.ts'

const tag = 'Listeners'

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
    answers: { 201: { means: 'The listener.', schema: listener } },
    errors: [409],
    handle: async (ctx, raw) => ({ status: 201, body: presentListener(ctx, await createListener(ctx, raw)) }),
  }),
  operation({
    method: 'GET',
    path: '/v2/listeners',
    operationId: 'listListeners',
    summary: 'List listeners, newest first',
    tag,
    input: listInput,
    answers: { 200: { means: 'A page.', schema: listenerList } },
    errors: [],
    handle: async (ctx, raw) => {
      const { resources, offset } = await listListeners(ctx, raw)
      return { status: 200, body: { resources: resources.map((row) => presentListener(ctx, row)), offset } }
    },
  }),
  operation({
    method: 'GET',
    path: '/v2/listeners/{listener_id}',
    operationId: 'getListener',
    summary: 'Get a listener',
    tag,
    input: getInput,
    answers: { 200: { means: 'The listener.', schema: listener } },
    errors: [404],
    handle: async (ctx, raw) => ({ status: 200, body: presentListener(ctx, await getListener(ctx, raw)) }),
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
    answers: { 200: { means: 'The listener as it is now.', schema: listener } },
    errors: [404, 409],
    handle: async (ctx, raw) => ({ status: 200, body: presentListener(ctx, await updateListener(ctx, raw)) }),
  }),
  operation({
    method: 'DELETE',
    path: '/v2/listeners/{listener_id}',
    operationId: 'deleteListener',
    summary: 'Delete a listener',
    description: 'Refused while a deployment uses it that has not been torn down. Its API keys are revoked.',
    tag,
    input: deleteInput,
    answers: { 204: { means: 'It is gone.', schema: null } },
    errors: [404, 409],
    handle: async (ctx, raw) => {
      await deleteListener(ctx, raw)
      return { status: 204, body: null }
    },
  }),
]
