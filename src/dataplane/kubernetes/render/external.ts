/** External database and cache: two secret references name their addresses. None is rendered then. */
import type { EffectiveSpec, SecretReference } from '../../../domain/protocol/protocol.ts'

export interface InfrastructureConfig {
  spec: EffectiveSpec
  secretReferences: SecretReference[]
}

/** Copies only these members, so that equal configurations compare as equal. */
export const infrastructureConfigOf = ({ spec, secretReferences }: InfrastructureConfig): InfrastructureConfig => ({
  spec,
  secretReferences,
})

export interface External {
  database: SecretReference | null
  cache: SecretReference | null
}

/** Null: the component is not external. */
export function externalOf(references: readonly SecretReference[]): External {
  const named = (name: string) => references.findLast((reference) => reference.name === name) ?? null
  return { database: named('POSTGRES_URI_CUSTOM'), cache: named('REDIS_URI_CUSTOM') }
}
