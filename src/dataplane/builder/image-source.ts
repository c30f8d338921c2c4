/**
 * Turns a tree and its plan into the input of an image build: the tree's Dockerfile or a generated one, and the secrets of its
 * commands. No code of the tree may have run before.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { RevisionWork } from '../../domain/protocol/protocol.ts'
import type { BuildPlan, DockerfilePlan } from '../build/plan/build-plan.ts'
import {
  type BaseImages,
  ENVIRONMENT_SECRET,
  RESERVED_PREFIX,
  renderDockerfile,
  SETTINGS_SECRET,
} from './dockerfile.ts'
import type { ImageSource } from './image-builder.ts'

export async function imageSource(
  plan: BuildPlan,
  tree: string,
  folder: string,
  deploymentId: string,
  revision: Pick<RevisionWork, 'secrets'>,
  { base, packageIndexes }: { base: BaseImages; packageIndexes: Record<string, string> },
): Promise<ImageSource> {
  if (plan.kind === 'dockerfile') return dockerfileSource(plan, tree, revision, packageIndexes)
  await makeReadable(tree)
  const dockerfile = path.join(folder, 'Dockerfile')
  fs.writeFileSync(dockerfile, renderDockerfile(plan, base, deploymentId), { mode: 0o600 })
  const settings = { name: SETTINGS_SECRET, value: exportLines(settingVariables(packageIndexes)) }
  const secrets = [environmentSecret(revision, packageIndexes), settings]
  return { dockerfile, context: tree, ignoresDockerignore: true, secrets }
}

/** Passes each secret by its name, and all together as one shell file. */
export async function dockerfileSource(
  { dockerfile, context }: DockerfilePlan,
  tree: string,
  revision: Pick<RevisionWork, 'secrets'>,
  packageIndexes: Record<string, string>,
): Promise<ImageSource> {
  await makeReadable(tree)
  return {
    dockerfile: path.join(tree, dockerfile),
    context: path.join(tree, context),
    ignoresDockerignore: false,
    secrets: [
      ...revision.secrets.filter(({ name }) => !name.startsWith(RESERVED_PREFIX)),
      environmentSecret(revision, packageIndexes),
    ],
  }
}

/** Lets every account read the files under any umask, because an image may run as any user. Skips symlinks. */
async function makeReadable(tree: string): Promise<void> {
  await promisify(execFile)('chmod', ['-R', 'u+rwX,go=rX', '--', tree])
}

type Variable = RevisionWork['secrets'][number]

/** As on the process runtime, a deployment's secret wins over a setting of the server. */
const environmentSecret = (
  { secrets }: Pick<RevisionWork, 'secrets'>,
  packageIndexes: Record<string, string>,
): Variable => ({
  name: ENVIRONMENT_SECRET,
  value: exportLines([...settingVariables(packageIndexes), ...secrets]),
})

const settingVariables = (packageIndexes: Record<string, string>): Variable[] =>
  Object.entries(packageIndexes).map(([name, value]) => ({ name, value }))

const exportLines = (variables: Variable[]): string =>
  variables.map(({ name, value }) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`).join('')
