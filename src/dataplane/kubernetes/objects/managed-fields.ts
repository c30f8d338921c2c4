/** Field ownership as the API server records it. A write that changes a field takes it from all other managers. */
import { createHash } from 'node:crypto'
import { FIELD_MANAGER } from './names.ts'
import type { LiveObject } from './types.ts'

interface Entry {
  manager?: string
  operation?: string
  fieldsV1?: { 'f:spec'?: Record<string, unknown> }
}

export type Managed = LiveObject['metadata'] & { managedFields?: Entry[] }

/** True: Pilothouse has written the object. */
export const isOurs = ({ managedFields = [] }: Managed): boolean =>
  managedFields.some(({ manager }) => manager === FIELD_MANAGER)

/**
 * Digest of the fields that Pilothouse has applied and that no other manager has changed or removed. Without replicas, which
 * autoscalers set and old versions don't track, and without a volume claim's spec, which the cluster completes.
 */
export function ownedFields({ kind, metadata }: LiveObject): string {
  const { managedFields = [] } = metadata as Managed
  const applied = managedFields.find(({ manager, operation }) => manager === FIELD_MANAGER && operation === 'Apply')
  const { 'f:replicas': _, ...spec } = applied?.fieldsV1?.['f:spec'] ?? {}
  const fields = { ...applied?.fieldsV1, 'f:spec': kind === 'PersistentVolumeClaim' ? {} : spec }
  return createHash('sha1').update(JSON.stringify(fields)).digest('base64')
}
