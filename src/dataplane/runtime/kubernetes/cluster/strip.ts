/**
 * What is kept of an object in memory: not who owns which field (often larger than the rest), and no secrets.
 */
import type { LiveObject } from '../types.ts'

/** where `kubectl apply` of old keeps a whole copy of the object */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

export function strip(object: LiveObject): LiveObject {
  const { managedFields: _, ...metadata } = object.metadata as LiveObject['metadata'] & { managedFields?: unknown }
  const kept: LiveObject = { ...object, metadata }
  if (metadata.annotations && LAST_APPLIED in metadata.annotations) {
    const { [LAST_APPLIED]: __, ...annotations } = metadata.annotations
    kept.metadata = { ...metadata, annotations }
  }
  if (object.kind === 'Secret') {
    delete kept.data
    delete kept.stringData
  }
  return kept
}
