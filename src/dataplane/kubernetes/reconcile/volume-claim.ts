/**
 * Adapts the database's volume claim to the existing one. Its storage class can't change and it can't shrink;
 * the cluster decides whether it grows. An impossible change must not block a deploy.
 */
import type { V1PersistentVolumeClaim } from '@kubernetes/client-node'
import type { Progress } from '../../../domain/protocol/protocol.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import { externalOf, type InfrastructureConfig } from '../render/external.ts'
import { bytesOf, gibibytes } from '../render/quantity.ts'

type Claim = V1PersistentVolumeClaim['spec']

/** Returns a manifest that can be applied to the existing volume claim; other manifests unchanged. */
export function fitToExisting(manifest: Manifest, existing: LiveObject | undefined): Manifest {
  if (manifest.kind !== 'PersistentVolumeClaim' || !existing) return manifest
  const { storageClassName, resources } = (existing.spec ?? {}) as NonNullable<Claim>
  const { storageClassName: _, ...spec } = manifest.spec as NonNullable<Claim>
  const has = resources?.requests?.storage
  const keeps = has !== undefined && bytesOf(has) > bytesOf(spec.resources?.requests?.storage ?? '0')
  return {
    ...manifest,
    spec: {
      ...spec,
      ...(storageClassName === undefined ? {} : { storageClassName }),
      ...(keeps ? { resources: { requests: { storage: has } } } : {}),
    },
  }
}

/** Returns the manifest without the storage class, which is immutable. */
export function withoutStorageClass(manifest: Manifest): Manifest {
  if (manifest.kind !== 'PersistentVolumeClaim') return manifest
  const { storageClassName: _, ...spec } = manifest.spec as NonNullable<Claim>
  return { ...manifest, spec }
}

/** Returns the manifest without the fields of `fitToExisting`: a difference there is no drift. */
export function withoutFittedFields(manifest: Manifest): Manifest {
  if (manifest.kind !== 'PersistentVolumeClaim') return manifest
  const { storageClassName: _, resources: __, ...spec } = manifest.spec as NonNullable<Claim>
  return { ...manifest, spec }
}

/** Progress: the volume's size differs from the spec; null: it does not. `refused`: why it can't grow. */
export function volumeNote(
  config: InfrastructureConfig | null,
  objects: readonly LiveObject[],
  refused: string | null,
): Progress | null {
  if (!config || externalOf(config.secretReferences).database) return null
  const existing = objects.find(({ kind }) => kind === 'PersistentVolumeClaim')
  const has = ((existing?.spec ?? {}) as NonNullable<Claim>).resources?.requests?.storage
  if (has === undefined) return null
  const difference = bytesOf(has) - bytesOf(gibibytes(config.spec.db_storage_gi))
  const note = (message: string): Progress => ({ reason: 'STORAGE_UNAVAILABLE', message })
  if (difference > 0) return note(`The volume of the database keeps its ${has}: a volume can't shrink.`)
  return difference < 0 && refused !== null ? note(`The volume of the database stays at ${has}. ${refused}`) : null
}
