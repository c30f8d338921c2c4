/** Image references: what people write, made into what every engine understands alike. */
import { StepFailure } from '../../../output/step-failure.ts'

export interface ImageReference {
  /** with its registry, always */
  full: string
  /** host of the registry, with its port if it has one */
  registry: string
  /** `localhost/…` is what engines call images that were made on the machine: they come from nowhere */
  local: boolean
}

const SHAPE = /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/

/** A name without a registry is one of docker.io, as in a cluster. Of tag and digest together the digest counts. */
export function parseImageReference(imageUri: string | null): ImageReference {
  if (!imageUri || !SHAPE.test(imageUri))
    throw new StepFailure('CONFIG_INVALID', 'This revision names no image that could be run.')
  const [first, ...rest] = imageUri.split('/')
  const named = rest.length > 0 && (/[.:]/.test(first!) || first === 'localhost')
  const registry = named ? first! : 'docker.io'
  const path = named ? rest.join('/') : rest.length > 0 ? imageUri : `library/${imageUri}`
  const [name, digest] = path.split('@', 2)
  // not every engine takes both
  const exact = digest ? `${name!.replace(/:[^:/]*$/, '')}@${digest}` : path
  return { full: `${registry}/${exact}`, registry, local: registry === 'localhost' }
}

/** What the image says of its version: its tag, else its digest, asked for or pulled. */
export function imageVersion(imageUri: string | null, digest: string | null): string | undefined {
  const [name = '', asked] = (imageUri ?? '').split('@', 2)
  // a port of the registry is no tag
  return /:([^:/]+)$/.exec(name)?.[1] ?? asked ?? digest ?? undefined
}
