/**
 * What was applied, and how to tell that it is not so any more. Only digests are kept: there may be thousands
 * of these.
 */
import { project } from './cluster/project.ts'
import { componentOf } from './component.ts'
import { digest } from './digest.ts'
import { type Mark, markOf } from './judge.ts'
import type { Component, LiveObject, Manifest } from './types.ts'
import { withoutClass, withoutFitted } from './volume.ts'

/** Names an object within a deployment, whose objects are all in one namespace. */
export function keyOf({ kind, metadata }: Pick<Manifest, 'kind' | 'metadata'>): string {
  return `${kind}/${metadata.name}`
}

export interface Applied {
  key: string
  /** what names the object to others */
  object: LiveObject
  /** of a Deployment or StatefulSet, null for other kinds */
  workload: { component: Component; mark: Mark | null } | null
  /** of the manifest */
  digest: string
  /** of what the server made of its fields */
  projection: string
  uid: string
  /** the newest version that is known to be as applied */
  resourceVersion: string
  generation: number
  /** the watch has shown it since: from then on its absence means that it was removed */
  seen: boolean
  /** performance.now() of the apply */
  at: number
}

/** What the server answered to an apply. */
export function appliedAs(manifest: Manifest, live: LiveObject, autoscaled: boolean): Applied {
  const { apiVersion, kind } = manifest
  const { name, namespace, uid, resourceVersion, generation = 0 } = live.metadata
  const component = componentOf(manifest)
  const { template } = (manifest.spec ?? {}) as { template?: Parameters<typeof markOf>[0] }
  return {
    key: keyOf(manifest),
    object: { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } },
    workload: template && component ? { component, mark: markOf(template) } : null,
    digest: digestOf(manifest, autoscaled),
    projection: projectionOf(manifest, live, autoscaled),
    uid,
    resourceVersion,
    generation,
    seen: false,
    at: performance.now(),
  }
}

/** `autoscaled`: how many replicas there are is not ours to say. */
export function digestOf(manifest: Manifest, autoscaled: boolean): string {
  return digest(JSON.stringify(autoscaled ? withoutReplicas(manifest) : withoutClass(manifest)))
}

/**
 * Whether a version that was seen is other than what was applied. Takes note of it otherwise. Of Secrets the
 * content is not seen, so that any change of one may be a change of that.
 */
export function differs(applied: Applied, manifest: Manifest, live: LiveObject, autoscaled: boolean): boolean {
  const { uid, resourceVersion } = live.metadata
  if (uid !== applied.uid) return true
  applied.seen = true
  if (resourceVersion === applied.resourceVersion || isOlder(resourceVersion, applied.resourceVersion)) return false
  if (live.kind === 'Secret') return true
  const replicas = (object: Manifest) => (object.spec as { replicas?: number } | undefined)?.replicas
  if (autoscaled && replicas(manifest) !== replicas(live)) return true
  if (projectionOf(manifest, live, autoscaled) !== applied.projection) return true
  applied.resourceVersion = resourceVersion
  return false
}

function projectionOf(manifest: Manifest, live: LiveObject, autoscaled: boolean): string {
  return digest(project(withoutFitted(autoscaled ? withoutReplicas(manifest) : manifest), live))
}

function withoutReplicas(manifest: Manifest): Manifest {
  const { replicas: _, ...spec } = manifest.spec as { replicas?: number }
  return { ...manifest, spec }
}

/** The watch may lag behind our own writes. Versions are numbers that grow, in every API server there is. */
function isOlder(version: string, than: string): boolean {
  return /^\d+$/.test(version) && /^\d+$/.test(than) && BigInt(version) < BigInt(than)
}
