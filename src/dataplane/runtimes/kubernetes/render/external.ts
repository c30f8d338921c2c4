/**
 * Database and cache from outside: two names among the secret references of a deployment say where their addresses are.
 * Then none is made here, and the agent finds what they say where it would find ours.
 */
import type { EffectiveSpec, SecretReference } from '../../../../domain/protocol/protocol.ts'

/** Of what stands beneath a deployment's revisions, all that decides how it is made. */
export interface Placement {
  spec: EffectiveSpec
  secretReferences: SecretReference[]
}

/** No more than that, so that two of the same look the same. */
export const placementOf = ({ spec, secretReferences }: Placement): Placement => ({ spec, secretReferences })

export interface External {
  database: SecretReference | null
  cache: SecretReference | null
}

/** Null: it is one of ours. */
export function externalOf(references: readonly SecretReference[]): External {
  const named = (name: string) => references.findLast((reference) => reference.name === name) ?? null
  return { database: named('POSTGRES_URI_CUSTOM'), cache: named('REDIS_URI_CUSTOM') }
}
