/**
 * Adds a hash to a pod template, so that a pod shows its template: creation times have whole seconds only,
 * and the Deployment does not show the cluster's own hash.
 */
import { createHash } from 'node:crypto'
import { ANNOTATION_TEMPLATE } from '../objects/names.ts'
import type { Template } from './patch.ts'

/** Returns the template with its hash as an annotation. The order of members does not change the hash. */
export function hashed(template: Template): Template {
  const hash = createHash('sha256').update(JSON.stringify(template, sorted)).digest('hex').slice(0, 16)
  const annotations = { ...template.metadata.annotations, [ANNOTATION_TEMPLATE]: hash }
  return { ...template, metadata: { ...template.metadata, annotations } }
}

function sorted(_: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
