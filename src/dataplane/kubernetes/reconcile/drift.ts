/** Detects drift: an applied object that someone else changed. Keeps only digests, because there may be thousands. */
import { createHash } from 'node:crypto'
import { componentOf, type RevisionAttempt, revisionAttemptOf } from '../objects/labels.ts'
import { ownedFields } from '../objects/managed-fields.ts'
import { ANNOTATION_SCALE } from '../objects/names.ts'
import type { Component, LiveObject, Manifest } from '../objects/types.ts'
import { withoutStorageClass } from './database-volume.ts'

/** Key of an object within a deployment, whose objects share one namespace. */
export function keyOf({ kind, metadata }: Pick<Manifest, 'kind' | 'metadata'>): string {
  return `${kind}/${metadata.name}`
}

/** Digest for comparison. The text itself may be large or contain secrets, so it is not kept. */
export function digest(text: string): string {
  return createHash('sha1').update(text).digest('base64')
}

export interface AppliedObject {
  key: string
  object: LiveObject
  workload: { component: Component; attempt: RevisionAttempt | null } | null
  digest: string
  /** of the response to the apply */
  ownedFields: string
  uid: string
  /** newest resource version that is known to be unchanged */
  resourceVersion: string
  generation: number
  /** the informers have shown it; from then on, absence means deletion */
  observed: boolean
  at: number
}

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
    ownedFields: live.ownedFields ?? ownedFields(live),
    uid,
    resourceVersion,
    generation,
    observed: false,
    at: performance.now(),
  }
}

/** Keys of Deployments whose replicas an autoscaler or another manager sets. */
export function autoscaledKeys(manifests: readonly Manifest[]): Set<string> {
  return new Set(
    manifests.flatMap((manifest) => {
      const { kind, spec, metadata } = manifest
      if (metadata.annotations?.[ANNOTATION_SCALE]) return [keyOf(manifest)]
      if (kind !== 'HorizontalPodAutoscaler' && kind !== 'ScaledObject') return []
      const { name } = (spec as { scaleTargetRef: { name: string } }).scaleTargetRef
      return [keyOf({ kind: 'Deployment', metadata: { ...metadata, name } })]
    }),
  )
}

/** `autoscaled`: ignores the number of replicas. */
export function manifestDigest(manifest: Manifest, autoscaled: boolean): string {
  return digest(JSON.stringify(autoscaled ? withoutReplicas(manifest) : withoutStorageClass(manifest)))
}

/** False: the observed version does not differ, and it is recorded as unchanged. */
export function hasDrifted(applied: AppliedObject, manifest: Manifest, live: LiveObject): boolean {
  const { uid, resourceVersion } = live.metadata
  if (uid !== applied.uid) return true
  applied.observed = true
  if (resourceVersion === applied.resourceVersion || isOlder(resourceVersion, applied.resourceVersion)) return false
  const replicas = (object: Manifest) => (object.spec as { replicas?: number } | undefined)?.replicas
  if (replicas(manifest) !== replicas(live) || live.ownedFields !== applied.ownedFields) return true
  applied.resourceVersion = resourceVersion
  return false
}

function withoutReplicas(manifest: Manifest): Manifest {
  const { replicas: _, ...spec } = manifest.spec as { replicas?: number }
  return { ...manifest, spec }
}

/** Informers may lag behind writes. Resource versions are growing numbers in all existing API servers. */
function isOlder(version: string, than: string): boolean {
  return /^\d+$/.test(version) && /^\d+$/.test(than) && BigInt(version) < BigInt(than)
}
