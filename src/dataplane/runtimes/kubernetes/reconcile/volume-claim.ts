/**
 * The database's volume once it is there: its storage class can't be changed, it can't shrink, and whether it can
 * grow is for the cluster to say. What it can't become must not keep an agent from being deployed.
 */
import type { V1PersistentVolumeClaim } from '@kubernetes/client-node'
import type { Progress } from '../../../../domain/protocol/protocol.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import { externalOf, type Placement } from '../render/external.ts'
import { bytesOf, gibibytes } from '../render/quantity.ts'

type Claim = V1PersistentVolumeClaim['spec']

/** A volume claim's manifest as it can be applied to the one that is there; other manifests as they are. */
export function fitToExisting(manifest: Manifest, there: LiveObject | undefined): Manifest {
  if (manifest.kind !== 'PersistentVolumeClaim' || !there) return manifest
  const { storageClassName, resources } = (there.spec ?? {}) as NonNullable<Claim>
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

/** A manifest without what `fitToExisting` takes over and nobody can change. */
export function withoutStorageClass(manifest: Manifest): Manifest {
  if (manifest.kind !== 'PersistentVolumeClaim') return manifest
  const { storageClassName: _, ...spec } = manifest.spec as NonNullable<Claim>
  return { ...manifest, spec }
}

/** A manifest without all that `fitToExisting` takes over: a difference there is no drift. */
export function withoutFittedFields(manifest: Manifest): Manifest {
  if (manifest.kind !== 'PersistentVolumeClaim') return manifest
  const { storageClassName: _, resources: __, ...spec } = manifest.spec as NonNullable<Claim>
  return { ...manifest, spec }
}

/** For people: that the volume is not as large as the spec says; null: it is, or there is none yet. `refused`: why it can't grow. */
export function volumeNote(
  placement: Placement | null,
  objects: readonly LiveObject[],
  refused: string | null,
): Progress | null {
  if (!placement || externalOf(placement.secretReferences).database) return null
  const there = objects.find(({ kind }) => kind === 'PersistentVolumeClaim')
  const has = ((there?.spec ?? {}) as NonNullable<Claim>).resources?.requests?.storage
  if (has === undefined) return null
  const difference = bytesOf(has) - bytesOf(gibibytes(placement.spec.db_storage_gi))
  const note = (message: string): Progress => ({ reason: 'STORAGE_UNAVAILABLE', message })
  if (difference > 0) return note(`The volume of the database keeps its ${has}: a volume can't shrink.`)
  return difference < 0 && refused !== null ? note(`The volume of the database stays at ${has}. ${refused}`) : null
}
