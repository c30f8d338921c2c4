/** Revisions as steps contain them: of a repository, or of an image. */
import { randomUUID } from 'node:crypto'
import { WORK_COLUMNS } from '../../src/domain/protocol/answers.ts'
import type { RevisionWork } from '../../src/domain/protocol/protocol.ts'

const NOTHING = Object.fromEntries(Object.keys(WORK_COLUMNS).map((column) => [column, null])) as Record<
  keyof RevisionWork,
  never
>

const first = () => ({ id: randomUUID(), number: 1, attempt: 1, secrets: [] })

export const tarballRevision = (changes: Partial<RevisionWork> = {}): RevisionWork => ({
  ...NOTHING,
  ...first(),
  source: 'internal_source',
  graphConfigPath: 'graph.json',
  sourceTarballPath: 'uploads/x',
  ...changes,
})

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
