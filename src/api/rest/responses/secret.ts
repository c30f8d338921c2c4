/** Secrets of a deployment by name in REST (docs/deployments.md#secrets). */
import { z } from 'zod'
import type { NamedSecret } from '../../../domain/secrets/secret-set.ts'
import { secret } from '../../../domain/values/shapes.ts'
import { actor } from './actor.ts'
import { responseSchema, time } from './response-schema.ts'

const namedSecret = responseSchema(
  { id: 'NamedSecret' },
  {
    name: z.string(),
    set_at: time.nullable().describe('When the value was set; null if an older server version set it.'),
    set_by: actor
      .nullable()
      .describe('Who set the value, with the name at that time. It is null whenever `set_at` is null.'),
  },
  ({ origin }: NamedSecret) => ({ setAt: origin?.at ?? null, setBy: origin?.by ?? null }),
)

export const namedSecrets = responseSchema(
  { id: 'NamedSecretList' },
  { resources: z.array(namedSecret) },
  (resources: readonly NamedSecret[]) => ({ resources }),
)

export const revealedSecret = responseSchema({ id: 'RevealedSecret' }, secret.shape)
