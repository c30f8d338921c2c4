/** Revisions as steps contain them: of a repository, or of an image. */
import { randomUUID } from 'node:crypto'
import type { RevisionWork } from '../../src/domain/protocol/protocol.ts'

const NOTHING = {
  repoUrl: null,
  repoRef: null,
  repoCommitSha: null,
  graphConfigPath: null,
  imageUri: null,
  sourceTarballPath: null,
  installCommand: null,
  buildCommand: null,
  artifact: null,
}

const first = () => ({ id: randomUUID(), number: 1, attempt: 1, secrets: [] })

export const gitRevision = (repoUrl: string, changes: Partial<RevisionWork> = {}): RevisionWork => ({
  ...NOTHING,
  ...first(),
  source: 'gitprovider',
  repoUrl,
  repoRef: 'main',
  graphConfigPath: 'graph.json',
  ...changes,
})

export const imageRevision = (imageUri: string, changes: Partial<RevisionWork> = {}): RevisionWork => ({
  ...NOTHING,
  ...first(),
  source: 'external_container',
  imageUri,
  ...changes,
})
