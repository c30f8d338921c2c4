/** Pod templates: the changes of POD_PATCHES and POD_CLASSES, and a hash. */
import { createHash } from 'node:crypto'
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { ANNOTATION_TEMPLATE } from '../objects/names.ts'
import type { RenderOptions } from '../objects/types.ts'
import type { PodMetadata } from './metadata.ts'

/**
 * Returns the template with its hash as an annotation, so that a pod shows its template: creation times have whole
 * seconds only, and the Deployment does not show the cluster's own hash. The order of members does not change it.
 */
export function hashed(template: Template): Template {
  const hash = createHash('sha256').update(JSON.stringify(template, sorted)).digest('hex').slice(0, 16)
  const annotations = { ...template.metadata.annotations, [ANNOTATION_TEMPLATE]: hash }
  return { ...template, metadata: { ...template.metadata, annotations } }
}

function sorted(_: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

export interface Template {
  metadata: PodMetadata
  spec: unknown
}

/** Applies a JSON merge patch, but lists of named items merge by name (mounts by path). */
export function patched(template: Template, patch: object | undefined): Template {
  return patch ? (merged(template, patch, '') as Template) : template
}

/** Patches of the deployment's class by component. Throws StepFailure when the settings lack the class. */
export function classPatches({ class: name }: EffectiveSpec, classes: RenderOptions['classes']) {
  if (name == null) return {}
  if (Object.hasOwn(classes, name)) return classes[name]!
  const known = Object.keys(classes).sort().join(', ')
  throw new StepFailure(
    'CONFIG_INVALID',
    `Class ${name} is not among POD_CLASSES of the listener: ${known || 'there are none'}. Add it there, or change source_config.resource_spec.class.`,
  )
}

type Members = Record<string, unknown>
const isMap = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value)

function merged(value: unknown, patch: unknown, member: string): unknown {
  if (Array.isArray(patch)) return mergedList(Array.isArray(value) ? value : [], patch, member)
  if (!isMap(patch)) return patch
  const result: Members = isMap(value) ? { ...value } : {}
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) delete result[name]
    else result[name] = merged(result[name], change, name)
  }
  return result
}

/** Keeps the existing order and appends new items. */
function mergedList(list: readonly unknown[], patch: readonly unknown[], member: string): unknown[] {
  const key = member === 'volumeMounts' ? 'mountPath' : 'name'
  const hasKey = (item: unknown): item is Members => isMap(item) && typeof item[key] === 'string'
  if (!list.every(hasKey) || !patch.every(hasKey)) return patch.map((item) => merged(undefined, item, ''))
  const changes = new Map(patch.map((item) => [item[key], item]))
  const known = new Set(list.map((item) => item[key]))
  return [
    ...list.map((item) => (changes.has(item[key]) ? merged(item, changes.get(item[key]), '') : item)),
    ...patch.filter((item) => !known.has(item[key])).map((item) => merged(undefined, item, '')),
  ]
}
