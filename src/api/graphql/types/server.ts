/** `server`: the state of the server that answers. */
import { requireRole } from '../../../domain/transaction/access.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { describeOverload, type Overloaded } from '../../../platform/async/overload.ts'
import { VERSION } from '../../../platform/files/checkout.ts'
import { builder } from '../builder/builder.ts'
import { OverloadCause } from '../builder/enums.ts'

const Overload = builder.objectRef<Overloaded>('Overload').implement({
  description: 'The server is overloaded: its work takes too long, so it starts one build or preparation at a time.',
  fields: (t) => ({
    causes: t.expose('causes', { type: [OverloadCause], description: 'The causes, most significant first.' }),
    since: t.expose('since', { type: 'DateTime' }),
    message: t.string({
      description: 'A message for people.',
      resolve: (overload) => sentence(describeOverload(overload)),
    }),
  }),
})

const sentence = (part: string) => `${part[0]!.toUpperCase()}${part.slice(1)}.`

export const Server = builder.objectRef<RequestContext>('Server').implement({
  description: 'The server that answers this request. Several servers may share the database.',
  fields: (t) => ({
    version: t.string({ description: 'The version of its program.', resolve: () => VERSION }),
    idleMinutes: t.int({
      nullable: true,
      description:
        'The default of `idleMinutes` of deployments without a listener. Null: their agents run on Kubernetes and never sleep.',
      resolve: ({ settings }) => settings.idleMinutes,
    }),
    overload: t.field({
      type: Overload,
      nullable: true,
      description: 'Null: the server is not overloaded.',
      resolve: ({ overload }) => overload?.now ?? null,
    }),
  }),
})

builder.queryField('server', (t) =>
  t.field({
    type: Server,
    description: 'The state of the server that answers. `GET /readyz` reports the same.',
    resolve: (_root, _args, ctx) => {
      requireRole(ctx, 'viewer')
      return ctx
    },
  }),
)
