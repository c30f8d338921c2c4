/** Mutations of listeners: create, update and delete. For admins whose plan includes listeners. */
import { ConflictError, NotFoundError, PreconditionFailedError } from '../../../domain/errors/errors.ts'
import {
  createInput,
  createListener,
  deleteInput,
  deleteListener,
  updateInput,
  updateListener,
} from '../../../domain/listeners/manage.ts'
import { readById } from '../../../domain/query-engine/reading.ts'
import type { Listener as ListenerRow } from '../../../domain/values/row-types.ts'
import { builder } from '../builder/builder.ts'
import { rowMutation } from '../builder/read-back.ts'
import { verbInput } from '../builder/verb-input.ts'
import { Listener } from './listener.ts'

const { success, readBack } = rowMutation(
  'listener',
  Listener,
  async (tx, id, query) => (await readById<ListenerRow>(tx, 'Listener', id, query))!,
)

const DeleteListenerSuccess = builder.objectRef<{ listenerId: string }>('DeleteListenerSuccess').implement({
  description: 'The listener is deleted, and its API keys are revoked.',
  fields: (t) => ({ listenerId: t.exposeID('listenerId') }),
})

const create = verbInput('CreateListenerInput', createInput)
const update = verbInput('UpdateListenerInput', updateInput, 'editVersion')
const remove = verbInput('DeleteListenerInput', deleteInput, 'editVersion')

builder.mutationFields((t) => ({
  createListener: t.field({
    type: success('CreateListenerSuccess'),
    description:
      'Registers a listener. Only for organizations with a self-hosted enterprise plan. The listener program needs an API key of the role `listener`.',
    errors: { types: [ConflictError] },
    args: { input: t.arg({ type: create.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => createListener(ctx, create.raw(input), readBack(ctx, info)),
  }),
  updateListener: t.field({
    type: success('UpdateListenerSuccess'),
    description: 'Changes the given members and keeps the rest. A namespace that a deployment uses can’t be removed.',
    errors: { types: [NotFoundError, ConflictError, PreconditionFailedError] },
    args: { input: t.arg({ type: update.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => updateListener(ctx, update.raw(input), readBack(ctx, info)),
  }),
  deleteListener: t.field({
    type: DeleteListenerSuccess,
    description: 'Deletes a listener that no deployment uses, and revokes its API keys.',
    errors: { types: [NotFoundError, ConflictError, PreconditionFailedError] },
    args: { input: t.arg({ type: remove.type, required: true }) },
    resolve: async (_root, { input }, ctx) => {
      await deleteListener(ctx, remove.raw(input))
      return { listenerId: input.listenerId as string }
    },
  }),
}))
