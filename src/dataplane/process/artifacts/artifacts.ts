/** Artifacts of a deployment on disk: `artifacts/<name>/tree` has the build result, `artifact.json` its manifest. */
import fs from 'node:fs'
import path from 'node:path'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import type { ArtifactManifest } from '../../build/build.ts'
import { isNoSpaceError, noSpaceFailure, StepFailure } from '../../output/step-failure.ts'
import { parseArtifact } from '../../runtimes/artifact.ts'
import type { AppLayout } from '../isolation/layout.ts'
import { removeTrees } from '../isolation/untrusted-trees.ts'
import { breakHardLinks, makeSpareCopy, sealTree } from './tree-copy.ts'
import { environmentPath } from './virtual-environment.ts'

export interface Artifact extends ArtifactManifest {
  tree: string
  /** absolute path of the virtual environment; null: not Python */
  environment: string | null
}

/** Throws StepFailure (`artifactLost`) when the artifact is not on this machine. */
export function readArtifact(app: AppLayout, artifact: string | null): Artifact {
  const name = artifact && parseArtifact(artifact).name
  // the name comes from the database, so it must not lead out of the folder
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
    'The build of this revision is no longer on this machine. Redeploy to build it again.',
    { artifactLost: true },
  )

/**
 * Makes a finished build an immutable artifact with a spare copy. `account`: owner of the build; null: the server.
 * An existing artifact of that name is from an attempt whose result was never recorded.
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
  // without a spare copy the start makes one
  await makeSpareCopy(tree, { account, signal }).catch(() => signal.throwIfAborted())
}

/** Removes all other artifacts and the leftovers of build attempts. */
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
