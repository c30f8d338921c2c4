/** Secrets of a deployment (docs/deployments.md#secrets). */
import type { ShownSecret } from '../../../domain/secrets/secret-set.ts'
import { builder } from '../builder/builder.ts'
import { Actor } from './event.ts'

export const Secret = builder.objectRef<ShownSecret>('Secret').implement({
  description: 'An environment variable of the deployment.',
  fields: (t) => ({
    name: t.exposeString('name'),
    value: t.exposeString('value', {
      description:
        'Masked for callers who may not read values, and for all callers over a session. `revealSecret` returns one value.',
    }),
    setAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the value was set. Null: an older server set it and did not record the time.',
      resolve: ({ origin }) => origin?.at,
    }),
    setBy: t.field({
      type: Actor,
      nullable: true,
      description: 'Who set the value, with the name from that time. Null if `setAt` is null.',
      resolve: ({ origin }) => origin?.by,
    }),
  }),
})
