/** `server`: how the server does that answers. */
import { requireRole } from '../../../domain/transaction/access.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { describeOverload, type Overloaded } from '../../../platform/async/overload.ts'
import { builder } from '../builder/builder.ts'
import { OverloadCause } from '../builder/enums.ts'

const Overload = builder.objectRef<Overloaded>('Overload').implement({
  description: 'A server can’t do in time what it has begun, and begins one build or preparation at a time.',
  fields: (t) => ({
    causes: t.expose('causes', { type: [OverloadCause], description: 'The most telling first.' }),
    since: t.expose('since', { type: 'DateTime' }),
    message: t.string({ description: 'For people.', resolve: (overload) => sentence(describeOverload(overload)) }),
  }),
})

const sentence = (part: string) => `${part[0]!.toUpperCase()}${part.slice(1)}.`

const Server = builder.objectRef<RequestContext>('Server').implement({
  description: 'The server that answers: one of those that share the database.',
  fields: (t) => ({
    overload: t.field({
      type: Overload,
      nullable: true,
      description: 'Null: it is not overloaded.',
      resolve: ({ overload }) => overload?.now ?? null,
    }),
  }),
})

builder.queryField('server', (t) =>
  t.field({
    type: Server,
    description: 'How the server does that answers; `GET /readyz` says the same.',
    resolve: (_root, _args, ctx) => {
      requireRole(ctx, 'viewer')
      return ctx
    },
  }),
)
