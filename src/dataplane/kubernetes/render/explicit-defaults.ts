/**
 * Sets API defaults explicitly, so that a user can switch to another variant (a volume type): apply removes
 * only applied fields, and a volume that keeps a configMap's default `defaultMode` is refused as two types.
 */
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import { withoutNulls } from './without-nulls.ts'

type Volume = NonNullable<EffectiveSpec['volumes']>[number]
type Variable = NonNullable<NonNullable<EffectiveSpec['sidecars']>[number]['env']>[number]
type Members = Record<string, unknown>

/** rw-r--r-- */
const DEFAULT_MODE = 0o644
const WITH_MODE = ['configMap', 'secret', 'projected', 'downwardAPI'] as const

/** A volume of the spec; without a source it is an emptyDir. */
export function volume(given: Volume): Members {
  const copy = withoutNulls(given) as Members
  if (Object.keys(copy).length === 1) return { ...copy, emptyDir: {} }
  for (const source of WITH_MODE) if (copy[source]) copy[source] = { defaultMode: DEFAULT_MODE, ...copy[source] }
  return copy
}

const REFERENCES = { fieldRef: { apiVersion: 'v1' }, resourceFieldRef: { divisor: '0' } }

export function variable(given: Variable): Members {
  const copy = withoutNulls(given) as Members
  const from = copy.valueFrom as Members | undefined
  for (const [kind, filledIn] of Object.entries(REFERENCES)) {
    const reference = from?.[kind]
    if (from && reference !== null && typeof reference === 'object') from[kind] = { ...filledIn, ...reference }
  }
  return copy
}
