/** Secrets of a deployment as REST shows them beside it (docs/deployments.md#secrets). */
import { z } from 'zod'
import type { NamedSecret } from '../../../domain/secrets/list.ts'
import { secret } from '../../../domain/values/shapes.ts'
import { actor } from './actor.ts'
import { responseSchema, time } from './response-schema.ts'

const namedSecret = responseSchema(
  { id: 'NamedSecret' },
  {
    name: z.string(),
    set_at: time.nullable().describe('Since when it has its value; null where a server of before has set it.'),
    set_by: actor.nullable().describe('Who gave it its value, as they were called then; null as `set_at` is.'),
  },
  ({ origin }: NamedSecret) => ({ setAt: origin?.at ?? null, setBy: origin?.by ?? null }),
)

export const namedSecrets = responseSchema(
  { id: 'NamedSecretList' },
  { resources: z.array(namedSecret) },
  (resources: readonly NamedSecret[]) => ({ resources }),
)

/** What is answered once: nobody keeps it. */
export const revealedSecret = responseSchema({ id: 'RevealedSecret' }, secret.shape)
