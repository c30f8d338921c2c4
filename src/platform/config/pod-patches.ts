/**
 * POD_PATCHES: changes to the pod templates of the Kubernetes runtime, for what no field covers. JSON by component, checked
 * as far as can be without a cluster: its shape, and that it leaves alone what deployments are known and selected by.
 */
import { z } from 'zod'

/** A merge patch of a pod template; the lists of named things in it are merged by their names (render/patch.ts). */
interface PodPatch {
  metadata?: { labels?: Record<string, string | null>; annotations?: Record<string, string | null> }
  spec?: Record<string, unknown>
}

/** Each with the container that it has anyway. */
const COMPONENTS = { server: 'agent', queue: 'agent', database: 'postgres', cache: 'redis' } as const
export type PodPatches = Partial<Record<keyof typeof COMPONENTS, PodPatch>>

/** Labels and annotations by which objects are selected, known and fenced. */
const OURS = /^(pilothouse\.dev|app\.kubernetes\.io)\//
const NAMED = ['containers', 'initContainers', 'volumes'] as const

export const podPatches = z.string().transform((text, context): PodPatches => {
  const wrong = problemOf(text)
  if (wrong === null) return JSON.parse(text)
  context.addIssue({ code: 'custom', message: wrong })
  return z.NEVER
})

type Members = Record<string, unknown>
const isMap = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value)
const other = (members: Members, known: readonly string[]) => Object.keys(members).find((name) => !known.includes(name))

/** What is wrong, in words that follow the name of the setting; null: nothing. */
function problemOf(text: string): string | null {
  let patches: unknown
  try {
    patches = JSON.parse(text)
  } catch {
    return 'must be JSON, like {"server": {"spec": {"nodeSelector": {"pool": "agents"}}}}'
  }
  if (!isMap(patches)) return 'must be a JSON object with a patch for each component'
  const components = Object.keys(COMPONENTS)
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
      if (OURS.test(name)) return `metadata.${kind} can’t have ${name}, which is Pilothouse’s own`
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
