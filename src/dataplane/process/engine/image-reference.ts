/** Parses image references into a form that every engine reads the same way. */
import { StepFailure } from '../../output/step-failure.ts'

export interface ImageReference {
  full: string
  registry: string
  /** `localhost/…`: the image was built on this machine and can't be pulled */
  local: boolean
}

const SHAPE = /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/

/** A name without a registry belongs to docker.io, as in a cluster. If there are a tag and a digest, the digest counts. */
export function parseImageReference(imageUri: string | null): ImageReference {
  if (!imageUri || !SHAPE.test(imageUri))
    throw new StepFailure('CONFIG_INVALID', 'This revision has no valid image reference: set image_uri.')
  const [first, ...rest] = imageUri.split('/')
  const named = rest.length > 0 && (/[.:]/.test(first!) || first === 'localhost')
  const registry = named ? first! : 'docker.io'
  const path = named ? rest.join('/') : rest.length > 0 ? imageUri : `library/${imageUri}`
  const [name, digest] = path.split('@', 2)
  const exact = digest ? `${name!.replace(/:[^:/]*$/, '')}@${digest}` : path
  return { full: `${registry}/${exact}`, registry, local: registry === 'localhost' }
}

export function imageVersion(imageUri: string | null, digest: string | null): string | undefined {
  const [name = '', asked] = (imageUri ?? '').split('@', 2)
  return /:([^:/]+)$/.exec(name)?.[1] ?? asked ?? digest ?? undefined
}
