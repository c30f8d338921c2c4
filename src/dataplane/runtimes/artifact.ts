/** Artifact names: `tree:<name>` (a folder of this machine) and `image:<reference>`. Without a kind: an old tree. */
import type { RevisionWork } from '../../domain/protocol/protocol.ts'

export type ArtifactKind = 'tree' | 'image'

/** Prefix of images that exist only in the engine that built them. The digest is the engine's image id. */
const LOCAL = 'localhost/pilothouse/'

export const treeArtifact = (name: string): string => `tree:${name}`
export const imageArtifact = (reference: string): string => `image:${reference}`
/** `id`: the engine's image id, 64 hex digits. */
export const localReference = (deploymentId: string, id: string): string => `${LOCAL}${deploymentId}@sha256:${id}`

export function parseArtifact(artifact: string): { kind: ArtifactKind; name: string } {
  const [, kind, name] = /^(tree|image):(.*)$/s.exec(artifact) ?? []
  return kind ? { kind: kind as ArtifactKind, name: name! } : { kind: 'tree', name: artifact }
}

/** Returns the engine's id of a local image; null: the image is in a registry. */
export function localImageId(reference: string): string | null {
  return reference.startsWith(LOCAL) ? reference.slice(reference.indexOf('@sha256:') + '@sha256:'.length) : null
}

/** True: the user names the image of the revision. */
export const namesImage = ({ source }: Pick<RevisionWork, 'source'>): boolean =>
  source === 'external_container' || source === 'internal_container'

/** Returns the user's or built image of a revision; null: it runs from a tree or is not built. */
export function imageOf(revision: Pick<RevisionWork, 'imageUri' | 'artifact' | 'source'>): string | null {
  const { imageUri, artifact } = revision
  if (namesImage(revision)) return imageUri
  const built = artifact === null ? null : parseArtifact(artifact)
  return built?.kind === 'image' ? built.name : null
}

/** Returns the tag of an image reference, else the digest (`sha256:…`), else undefined. A registry's port is no tag. */
export function imageVersion(imageUri: string): string | undefined {
  const [name = '', digest] = imageUri.split('@', 2)
  const tag = /:([^:/]+)$/.exec(name)?.[1]
  return tag ?? (digest || undefined)
}
