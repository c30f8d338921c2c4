/** Mutations of connections: create and delete. */

import { ConflictError, NotFoundError } from '../../../domain/errors/errors.ts'
import {
  connections,
  createConnection,
  createInput,
  deleteConnection,
  deleteInput,
} from '../../../domain/oauth/tokens/connections.ts'
import { builder } from '../builder/builder.ts'
import { rowMutation } from '../builder/read-back.ts'
import { verbInput } from '../builder/verb-input.ts'
import { AgentLink } from './agent-link.ts'

const { success, readBack } = rowMutation('connection', AgentLink, connections.written)

const DeleteConnectionSuccess = builder.objectRef<{ connectionId: string }>('DeleteConnectionSuccess').implement({
  description: 'The connection is deleted. The agent gets no more access tokens from it. The token remains.',
  fields: (t) => ({ connectionId: t.exposeID('connectionId') }),
})

const create = verbInput('CreateConnectionInput', createInput)
const remove = verbInput('DeleteConnectionInput', deleteInput)

builder.mutationFields((t) => ({
  createConnection: t.field({
    type: success('CreateConnectionSuccess'),
    description: 'Connects an agent to one of the caller’s own tokens. If the connection exists, it is returned.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: create.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => createConnection(ctx, create.raw(input), readBack(ctx, info)),
  }),
  deleteConnection: t.field({
    type: DeleteConnectionSuccess,
    description: 'Deletes a connection. The token remains.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: remove.type, required: true }) },
    resolve: async (_root, { input }, ctx) => {
      await deleteConnection(ctx, remove.raw(input))
      return { connectionId: input.connectionId as string }
    },
  }),
}))
