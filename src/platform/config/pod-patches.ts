/**
 * Validates POD_PATCHES and POD_CLASSES: changes to the Kubernetes runtime's pod templates, for all deployments or one
 * class. Checks the shape, and protects labels that select objects. Other checks need a cluster.
 */
import { z } from 'zod'

/** Merge patch of a pod template. Lists of named items are merged by name (render/template.ts). */
interface PodPatch {
  metadata?: { labels?: Record<string, string | null>; annotations?: Record<string, string | null> }
  spec?: Record<string, unknown>
}

/** Component → the container that its pod always has. */
const COMPONENTS = { server: 'agent', queue: 'agent', database: 'postgres', cache: 'redis' } as const
export type PodPatches = Partial<Record<keyof typeof COMPONENTS, PodPatch>>
/** By name. A class can't patch database and cache, so changing the class restarts no database. */
export type PodClasses = Record<string, Pick<PodPatches, 'server' | 'queue'>>

/** Limit of the protocol (domain/protocol/requests.ts). */
const MAX_CLASSES = 100
const CLASS_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** Labels and annotations that select, identify and fence objects. */
const RESERVED_KEYS = /^(pilothouse\.dev|app\.kubernetes\.io)\//
const NAMED = ['containers', 'initContainers', 'volumes'] as const

const PATCHES_EXAMPLE = '{"server": {"spec": {"nodeSelector": {"pool": "agents"}}}}'
export const podPatches = json<PodPatches>(PATCHES_EXAMPLE, (patches) =>
  patchesProblem(patches, Object.keys(COMPONENTS)),
)
export const podClasses = json<PodClasses>(`{"gpu": ${PATCHES_EXAMPLE}}`, classesProblem)

/** `problemOf` returns the problem, phrased to follow the setting's name, or null. */
function json<T>(example: string, problemOf: (value: unknown) => string | null) {
  return z.string().transform((text, context): T => {
    let value: unknown
    let wrong: string | null
    try {
      value = JSON.parse(text)
      wrong = problemOf(value)
    } catch {
      wrong = `must be JSON, like ${example}`
    }
    if (wrong === null) return value as T
    context.addIssue({ code: 'custom', message: wrong })
    return z.NEVER
  })
}

type Members = Record<string, unknown>
const isMap = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value)
const other = (members: Members, known: readonly string[]) => Object.keys(members).find((name) => !known.includes(name))

function classesProblem(classes: unknown): string | null {
  if (!isMap(classes)) return 'must be a JSON object with the patches of each class'
  const names = Object.keys(classes)
  if (names.length > MAX_CLASSES) return `must have at most ${MAX_CLASSES} classes`
  for (const name of names) {
    if (!CLASS_NAME.test(name))
      return `has the class ${JSON.stringify(name)}: names have up to 63 lower-case letters, digits and hyphens, with no hyphen at either end`
    const wrong = patchesProblem(classes[name], ['server', 'queue'])
    if (wrong !== null) return `has a wrong class ${name}: it ${wrong}`
  }
  return null
}

function patchesProblem(patches: unknown, components: readonly string[]): string | null {
  if (!isMap(patches)) return 'must be a JSON object with a patch for each component'
  const unknown = other(patches, components)
  if (unknown !== undefined) return `names the component ${unknown}, and there are ${components.join(', ')}`
  for (const [component, patch] of Object.entries(patches)) {
    const wrong = patchProblem(patch, COMPONENTS[component as keyof typeof COMPONENTS])
    if (wrong !== null) return `has a wrong patch for ${component}: ${wrong}`
  }
  return null
}

function patchProblem(patch: unknown, own: string): string | null {
  if (!isMap(patch)) return 'it must be an object with metadata and spec of a pod'
  const part = other(patch, ['metadata', 'spec'])
  if (part !== undefined) return `${part} is no part of a pod template; metadata and spec are`
  const { metadata = {}, spec = {} } = patch
  if (!isMap(metadata) || !isMap(spec)) return 'metadata and spec must be objects'
  return metadataProblem(metadata) ?? specProblem(spec, own)
}

function metadataProblem(metadata: Members): string | null {
  const part = other(metadata, ['labels', 'annotations'])
  if (part !== undefined) return `metadata.${part} can’t be changed; labels and annotations can`
  for (const [kind, entries] of Object.entries(metadata)) {
    if (!isMap(entries)) return `metadata.${kind} must be an object`
    for (const [name, value] of Object.entries(entries)) {
      if (RESERVED_KEYS.test(name)) return `metadata.${kind} can’t have ${name}, which is Pilothouse’s own`
      if (typeof value !== 'string' && value !== null) return `metadata.${kind}.${name} must be a text, or null`
    }
  }
  return null
}

function specProblem(spec: Members, own: string): string | null {
  for (const list of NAMED) {
    const items = spec[list]
    if (items === undefined) continue
    if (!Array.isArray(items)) return `spec.${list} must be a list of what to add or change`
    for (const item of items) {
      if (!isMap(item) || typeof item.name !== 'string' || item.name === '')
        return `each of spec.${list} must have a name`
      if (items.some((one) => one !== item && one.name === item.name))
        return `spec.${list} has the name ${item.name} twice`
    }
  }
  const containers = (spec.containers ?? []) as Members[]
  const stranger = containers.find(({ name, image }) => name !== own && typeof image !== 'string')
  return stranger ? `the container ${stranger.name} needs an image; the one that is there is called ${own}` : null
}
