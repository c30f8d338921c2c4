/** Adapts the database to its existing volume. An impossible change must not block a deploy. */
import type { V1PersistentVolumeClaim } from '@kubernetes/client-node'
import type { Progress } from '../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { ANNOTATION_POSTGRES } from '../objects/names.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import { externalOf, type InfrastructureConfig } from '../render/external.ts'
import { bytesOf, gibibytes } from '../render/resources.ts'

type Claim = V1PersistentVolumeClaim['spec']

/**
 * Returns a manifest that can be applied to the existing volume claim; other manifests unchanged. The storage class can't
 * change and the volume can't shrink; the cluster decides whether it grows.
 */
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

/** Returns `17` for `postgres:17.2-alpine` and `pgvector/pgvector:0.8.0-pg17`; null: not known (a digest, `latest`). */
export function postgresMajor(image: string): number | null {
  const [name = ''] = image.split('@')
  const [repository = '', tag = ''] = name.slice(name.lastIndexOf('/') + 1).split(':')
  const marked = /(?:^|[^a-z])pg-?(\d{1,2})(?!\d)/i.exec(tag)
  // other repositories begin their tags with their own version
  const leading = ['postgres', 'postgresql', 'postgis'].includes(repository) ? /^(\d{1,2})(?!\d)/.exec(tag) : null
  const major = (marked ?? leading)?.[1]
  return major === undefined ? null : Number(major)
}

interface FittedDatabase {
  manifests: Manifest[]
  /** Progress for users: the database keeps an image other than the setting's; null: it does not. */
  note: Progress | null
}

/**
 * Keeps the Postgres major version that created a volume, because another major does not start on it. An annotation of
 * the volume claim records it. With another major in POSTGRES_IMAGE the database keeps its image. Throws StepFailure when
 * no image fits.
 */
export function fitPostgres(
  manifests: readonly Manifest[],
  existing: (manifest: Manifest) => LiveObject | undefined,
): FittedDatabase {
  const set = manifests.find(({ kind }) => kind === 'StatefulSet')
  const claim = manifests.find(({ kind }) => kind === 'PersistentVolumeClaim')
  const image = set && imageOf(set)
  if (!set || !claim || !image) return { manifests: [...manifests], note: null }
  const volume = existing(claim)
  const kept = imageOf(existing(set))
  const desired = postgresMajor(image)
  const recorded = Number(volume?.metadata.annotations?.[ANNOTATION_POSTGRES]) || null
  const has = volume ? (recorded ?? (kept ? postgresMajor(kept) : null)) : desired
  const isMisfit = has !== null && desired !== null && has !== desired
  if (isMisfit && !(kept && [has, null].includes(postgresMajor(kept))))
    throw new StepFailure('CONFIG_INVALID', misfit(image, has, 'can’t start'))
  const fitted = manifests.map((manifest) => {
    if (manifest === claim && has !== null) return annotated(claim, String(has))
    return manifest === set && isMisfit ? withImage(set, kept!) : manifest
  })
  const note = (message: string): Progress => ({ reason: 'CONFIG_INVALID', message })
  return { manifests: fitted, note: isMisfit ? note(misfit(image, has, `keeps ${kept}`)) : null }
}

const misfit = (image: string, has: number, consequence: string) =>
  `POSTGRES_IMAGE is ${image}, but the volume of the database was made by Postgres ${has}: the database ${consequence}. Set POSTGRES_IMAGE to an image of Postgres ${has}, or dump the data and restore them into a new deployment.`

type Template = { template: { spec: { containers: { name: string; image: string }[] } } }
const CONTAINER = 'postgres'

function imageOf(set: Manifest | undefined): string | undefined {
  return (set?.spec as Template | undefined)?.template.spec.containers.find(({ name }) => name === CONTAINER)?.image
}

function withImage(set: Manifest, image: string): Manifest {
  const copy = structuredClone(set)
  for (const container of (copy.spec as Template).template.spec.containers)
    if (container.name === CONTAINER) container.image = image
  return copy
}

function annotated(claim: Manifest, major: string): Manifest {
  const annotations = { ...claim.metadata.annotations, [ANNOTATION_POSTGRES]: major }
  return { ...claim, metadata: { ...claim.metadata, annotations } }
}
