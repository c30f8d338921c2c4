/**
 * Artifacts of a deployment on disk: `artifacts/<name>/tree` with what was built, and `artifact.json` beside
 * it with what a start has to know.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import type { ArtifactManifest } from '../../../build/build.ts'
import { isNoSpaceError, noSpaceFailure } from '../../../output/no-space.ts'
import { StepFailure } from '../../../output/step-failure.ts'
import { parseArtifact } from '../../artifact.ts'
import { environmentPath } from '../environments/virtual-environment.ts'
import type { AppLayout } from '../processes/layout.ts'
import { breakHardLinks, sealTree } from '../processes/seal-tree.ts'
import { makeSpareCopy } from '../processes/spare-copy.ts'
import { removeTrees } from '../processes/untrusted-trees.ts'

export interface Artifact extends ArtifactManifest {
  /** absolute path of what was built */
  tree: string
  /** absolute: its virtual environment; null: it is not in Python */
  environment: string | null
}

/** Throws StepFailure (`artifactLost`) when it is not on this machine. */
export function readArtifact(app: AppLayout, artifact: string | null): Artifact {
  const name = artifact && parseArtifact(artifact).name
  // a name is one of ours, but it has been in a database since
  const folder = name && path.basename(name) === name ? path.join(app.artifacts, name) : null
  const file = folder && path.join(folder, 'artifact.json')
  if (!name || !folder || !file || !fs.existsSync(file)) throw artifactLost()
  const manifest = JSON.parse(fs.readFileSync(file, 'utf8')) as ArtifactManifest
  const environment = manifest.kind === 'python' ? environmentPath(app, name) : null
  if (environment && !fs.existsSync(environment)) throw artifactLost()
  return { ...manifest, tree: path.join(folder, 'tree'), environment }
}

export const artifactLost = (): StepFailure =>
  new StepFailure(
    'ARTIFACT_LOST',
    'The build of this revision is not on this machine any more: redeploy builds it again.',
    { artifactLost: true },
  )

/**
 * Makes a finished build of `account` (null: ours) an artifact, which nobody can change from then on, with a copy for its
 * first start. One of that name can only be from a try whose result was never recorded.
 */
export async function keepArtifact(
  app: AppLayout,
  build: string,
  name: string,
  account: Account | null,
  signal: AbortSignal,
): Promise<void> {
  await breakHardLinks(path.join(build, 'tree'), account).catch((error) => {
    throw isNoSpaceError(error) ? noSpaceFailure() : error
  })
  const target = path.join(app.artifacts, name)
  await removeTrees(target)
  await fs.promises.rename(build, target)
  const tree = path.join(target, 'tree')
  await sealTree(tree, account)
  // without it the start makes one itself
  await makeSpareCopy(tree, { account, signal }).catch(() => signal.throwIfAborted())
}

/** Removes all artifacts but these, and what tries of builds have left. */
export async function pruneArtifacts(app: AppLayout, artifacts: readonly string[]): Promise<void> {
  const keep = new Set(artifacts.map((artifact) => parseArtifact(artifact).name))
  const below = (folder: string) => (fs.existsSync(folder) ? fs.readdirSync(folder) : [])
  await removeTrees(
    ...below(app.builds).map((name) => path.join(app.builds, name)),
    ...[app.artifacts, app.environments].flatMap((folder) =>
      below(folder)
        .filter((name) => !keep.has(name))
        .map((name) => path.join(folder, name)),
    ),
  )
}
