/** The writes of connections: create and delete. */
import { createConnection, createInput } from '../../domain/connections/create.ts'
import { deleteConnection, deleteInput } from '../../domain/connections/delete.ts'
import { selectWritten } from '../../domain/connections/list.ts'
import { ConflictError, NotFoundError } from '../../domain/errors.ts'
import type { AgentLink as Row } from '../../generated/prisma/client.ts'
import { builder } from '../builder.ts'
import { verbInput } from '../verb-input.ts'
import { type Left, readsRow } from '../written.ts'
import { AgentLink } from './agent-link.ts'

const CreateConnectionSuccess = builder.objectRef<Left<Row>>('CreateConnectionSuccess').implement({
  fields: (t) => ({
    connection: t.field({ type: AgentLink, description: 'As this call left it.', resolve: ({ row }) => row! }),
  }),
})

const DeleteConnectionSuccess = builder.objectRef<{ connectionId: string }>('DeleteConnectionSuccess').implement({
  description: 'The agent gets no more access tokens from it. The token stays.',
  fields: (t) => ({ connectionId: t.exposeID('connectionId') }),
})

const create = verbInput('CreateConnectionInput', createInput)
const remove = verbInput('DeleteConnectionInput', deleteInput)

builder.mutationFields((t) => ({
  createConnection: t.field({
    type: CreateConnectionSuccess,
    description:
      'Connects an agent to one of the caller’s own tokens. A second time it is the connection that is there.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: create.type, required: true }) },
    resolve: (_root, { input }, ctx, info) =>
      createConnection(ctx, create.raw(input), readsRow(ctx, info, 'connection', 'AgentLink', selectWritten)),
  }),
  deleteConnection: t.field({
    type: DeleteConnectionSuccess,
    description: 'Ends a connection. The token stays.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: remove.type, required: true }) },
    resolve: async (_root, { input }, ctx) => {
      await deleteConnection(ctx, remove.raw(input))
      return { connectionId: input.connectionId as string }
    },
  }),
}))
