/**
 * What a build has made, as revisions name it: `tree:<name>`, a folder of this machine, or `image:<reference>`. Names
 * without a kind are trees of earlier versions. Pure.
 */
import type { RevisionWork } from '../../domain/protocol/protocol.ts'

export type ArtifactKind = 'tree' | 'image'

/** Images that stay in the engine that built them, since there is no registry: the digest is the engine's id of them. */
const LOCAL = 'localhost/pilothouse/'

export const treeArtifact = (name: string): string => `tree:${name}`
/** `reference`: with the digest. */
export const imageArtifact = (reference: string): string => `image:${reference}`
/** `id`: the engine's, 64 hex digits. */
export const localReference = (deploymentId: string, id: string): string => `${LOCAL}${deploymentId}@sha256:${id}`

export function parseArtifact(artifact: string): { kind: ArtifactKind; name: string } {
  const [, kind, name] = /^(tree|image):(.*)$/s.exec(artifact) ?? []
  return kind ? { kind: kind as ArtifactKind, name: name! } : { kind: 'tree', name: artifact }
}

/** The engine's id of an image that is in no registry; null: it is in one. */
export function localImageId(reference: string): string | null {
  return reference.startsWith(LOCAL) ? reference.slice(reference.indexOf('@sha256:') + '@sha256:'.length) : null
}

/** Whether its user names the image. */
export const namesImage = ({ source }: Pick<RevisionWork, 'source'>): boolean =>
  source === 'external_container' || source === 'internal_container'

/** The image that a revision is run from, one of its user or one that was built; null: it is run from a tree, or from nothing yet. */
export function imageOf(revision: Pick<RevisionWork, 'imageUri' | 'artifact' | 'source'>): string | null {
  const { imageUri, artifact } = revision
  if (namesImage(revision)) return imageUri
  const built = artifact === null ? null : parseArtifact(artifact)
  return built?.kind === 'image' ? built.name : null
}
