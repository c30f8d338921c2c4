/** The image of deploy/Dockerfile on a base of this machine's Node, so that no registry is needed. */
import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { installServer } from '../packages.ts'
import { ROOT } from '../process.ts'
import { NODE } from './real-engine.ts'

/** The packages must be packed. `folder`: a new one, for the build's context. */
export async function buildServerImage(
  env: Record<string, string>,
  folder: string,
  image: string,
  settings: string[] = [],
): Promise<void> {
  // the first stage installs the packages of the repository's tools; this folder is its result
  mkdirSync(folder)
  await installServer(path.join(folder, 'app'))
  const variables = [`BASE=${NODE}`, ...settings].flatMap((one) => ['--build-arg', one])
  const from = ['--build-context', `package=${folder}`, '--file', path.join(ROOT, 'deploy/Dockerfile')]
  const args = ['build', '--quiet', '--format', 'docker', ...from, ...variables, '--tag', image, ROOT]
  await promisify(execFile)('podman', args, { env, timeout: 240_000 })
}
