/** Secrets of a deployment as GraphQL shows them (docs/deployments.md#secrets). */
import type { ShownSecret } from '../../../domain/secrets/secret-set.ts'
import { builder } from '../builder/builder.ts'
import { Actor } from './event.ts'

export const Secret = builder.objectRef<ShownSecret>('Secret').implement({
  description: 'An environment variable of the deployment.',
  fields: (t) => ({
    name: t.exposeString('name'),
    value: t.exposeString('value', {
      description:
        'Masked for callers who may not read the values of secrets, and for everybody over a session: `revealSecret` answers one.',
    }),
    setAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Since when it has its value; null where a server of before has set it.',
      resolve: ({ origin }) => origin?.at,
    }),
    setBy: t.field({
      type: Actor,
      nullable: true,
      description: 'Who gave it its value, as they were called then; null as `setAt` is.',
      resolve: ({ origin }) => origin?.by,
    }),
  }),
})
