/**
 * Keeps the Postgres major version that created a volume, because another major does not start on it.
 * An annotation of the volume claim records it. With another major in POSTGRES_IMAGE the database keeps its image.
 */
import type { Progress } from '../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { ANNOTATION_POSTGRES } from '../objects/names.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'

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

export interface FittedDatabase {
  manifests: Manifest[]
  /** Progress for users: the database keeps an image other than the setting's; null: it does not. */
  note: Progress | null
}

/** Returns manifests whose database starts on the existing volume. Throws StepFailure when no image fits. */
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
