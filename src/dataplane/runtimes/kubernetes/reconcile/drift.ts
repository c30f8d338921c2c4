/**
 * What was applied, and how to tell that it has drifted: that somebody else has changed it since. Only digests are kept,
 * since there may be thousands of objects.
 */
import { createHash } from 'node:crypto'
import { componentOf, type RevisionAttempt, revisionAttemptOf } from '../objects/labels.ts'
import { ANNOTATION_SCALE } from '../objects/names.ts'
import type { Component, LiveObject, Manifest } from '../objects/types.ts'
import { project } from './projection.ts'
import { withoutFittedFields, withoutStorageClass } from './volume-claim.ts'

/** Names an object within a deployment, whose objects are all in one namespace. */
export function keyOf({ kind, metadata }: Pick<Manifest, 'kind' | 'metadata'>): string {
  return `${kind}/${metadata.name}`
}

/** Tells whether something is the same as before, without keeping it: it may be large, and have secrets in it. */
export function digest(text: string): string {
  return createHash('sha1').update(text).digest('base64')
}

export interface AppliedObject {
  key: string
  /** what names the object to others */
  object: LiveObject
  /** of a Deployment or StatefulSet, null for other kinds */
  workload: { component: Component; attempt: RevisionAttempt | null } | null
  /** of the manifest */
  digest: string
  /** of what the server made of its fields */
  projection: string
  uid: string
  /** the newest version that is known to be as applied */
  resourceVersion: string
  generation: number
  /** the informers have shown it since: from then on its absence means that it was removed */
  observed: boolean
  /** performance.now() of the apply */
  at: number
}

/** The record of an apply. `live`: what the server answered. */
export function appliedObject(manifest: Manifest, live: LiveObject, autoscaled: boolean): AppliedObject {
  const { apiVersion, kind } = manifest
  const { name, namespace, uid, resourceVersion, generation = 0 } = live.metadata
  const component = componentOf(manifest)
  const { template } = (manifest.spec ?? {}) as { template?: Parameters<typeof revisionAttemptOf>[0] }
  return {
    key: keyOf(manifest),
    object: { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } },
    workload: template && component ? { component, attempt: revisionAttemptOf(template) } : null,
    digest: manifestDigest(manifest, autoscaled),
    projection: projectionDigest(manifest, live, autoscaled),
    uid,
    resourceVersion,
    generation,
    observed: false,
    at: performance.now(),
  }
}

/** Keys of Deployments whose replicas an autoscaler among the manifests, or somebody else, decides. */
export function autoscaledKeys(manifests: readonly Manifest[]): Set<string> {
  return new Set(
    manifests.flatMap((manifest) => {
      const { kind, spec, metadata } = manifest
      if (metadata.annotations?.[ANNOTATION_SCALE]) return [keyOf(manifest)]
      if (kind !== 'HorizontalPodAutoscaler') return []
      const { name } = (spec as { scaleTargetRef: { name: string } }).scaleTargetRef
      return [keyOf({ kind: 'Deployment', metadata: { ...metadata, name } })]
    }),
  )
}

/** `autoscaled`: how many replicas there are does not count. */
export function manifestDigest(manifest: Manifest, autoscaled: boolean): string {
  return digest(JSON.stringify(autoscaled ? withoutReplicas(manifest) : withoutStorageClass(manifest)))
}

/**
 * Whether a version that was observed is other than what was applied. Takes note of it otherwise. The content of Secrets
 * is not observed, so that any change of one may be a change of that.
 */
export function hasDrifted(applied: AppliedObject, manifest: Manifest, live: LiveObject, autoscaled: boolean): boolean {
  const { uid, resourceVersion } = live.metadata
  if (uid !== applied.uid) return true
  applied.observed = true
  if (resourceVersion === applied.resourceVersion || isOlder(resourceVersion, applied.resourceVersion)) return false
  if (live.kind === 'Secret') return true
  const replicas = (object: Manifest) => (object.spec as { replicas?: number } | undefined)?.replicas
  if (autoscaled && replicas(manifest) !== replicas(live)) return true
  if (projectionDigest(manifest, live, autoscaled) !== applied.projection) return true
  applied.resourceVersion = resourceVersion
  return false
}

function projectionDigest(manifest: Manifest, live: LiveObject, autoscaled: boolean): string {
  return digest(project(withoutFittedFields(autoscaled ? withoutReplicas(manifest) : manifest), live))
}

function withoutReplicas(manifest: Manifest): Manifest {
  const { replicas: _, ...spec } = manifest.spec as { replicas?: number }
  return { ...manifest, spec }
}

/** Informers may lag behind our own writes. Versions are numbers that grow, in every API server there is. */
function isOlder(version: string, than: string): boolean {
  return /^\d+$/.test(version) && /^\d+$/.test(than) && BigInt(version) < BigInt(than)
}
