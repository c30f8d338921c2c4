/**
 * Pod templates carry a hash of themselves, so that pods tell which template they were made from. Their own times
 * don't (they are in whole seconds), and the hash that the cluster gives them is not known to the Deployment.
 */
import { createHash } from 'node:crypto'
import { ANNOTATION_TEMPLATE } from '../objects/names.ts'
import type { Template } from './patch.ts'

/** The same template, annotated. Its hash changes only when it does: the order of members counts for nothing. */
export function hashed(template: Template): Template {
  const hash = createHash('sha256').update(JSON.stringify(template, sorted)).digest('hex').slice(0, 16)
  const annotations = { ...template.metadata.annotations, [ANNOTATION_TEMPLATE]: hash }
  return { ...template, metadata: { ...template.metadata, annotations } }
}

function sorted(_: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
