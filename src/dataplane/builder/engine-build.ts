/**
 * Runs one image build with podman's or docker's command line: build, push, return the image's reference. Secrets and logins go
 * in files, because arguments are visible to every account.
 */
import fs from 'node:fs'
import path from 'node:path'
import { type OnLine, OutputTail } from '../output/lines.ts'
import { NO_SPACE_MESSAGE, NO_SPACE_OUTPUT, StepFailure } from '../output/step-failure.ts'
import { type Engine, runEngine } from '../process/engine/engine.ts'
import { dockerConfigFolder, readDockerConfig, writeLogins } from '../process/engine/logins.ts'
import { localReference } from '../runtimes/artifact.ts'
import type { OnPhase } from '../runtimes/runtime.ts'
import { CACHE, type ImageRepository, TAG_PREFIX } from './image-store.ts'
import { deploymentLabel, forgetCacheNames } from './local-images.ts'

export interface EngineBuild {
  engine: Engine
  deploymentId: string
  /** unique name of this try of this revision: word characters, dots and dashes */
  name: string
  folder: string
  dockerfile: string
  context: string
  ignoresDockerignore: boolean
  secrets: readonly { name: string; value: string }[]
  repository: ImageRepository | null
  /** Runs the engine. Rejects when the build is cancelled, after all its processes have ended. */
  run: (args: string[], onLine: OnLine, env?: Record<string, string>) => Promise<{ code: number | null }>
  log: (line: string) => void
  phase?: OnPhase | undefined
  signal: AbortSignal
}

const registryOf = (repository: string): string => repository.split('/')[0]!

export const localImageName = ({ deploymentId, name }: Pick<EngineBuild, 'deploymentId' | 'name'>): string =>
  `localhost/pilothouse/${deploymentId}:${name}`

/** Why a working engine can't build, in words; null: it can. */
export async function buildProblem(engine: Engine, signal: AbortSignal): Promise<string | null> {
  if (engine.name === 'podman' || (await runEngine(engine, ['buildx', 'version'], signal)).ok) return null
  return 'docker has no buildx: install its plugin, which is the package docker-buildx-plugin of Docker, or docker-buildx where the system has that'
}

/** Returns the image's reference with its digest. Throws StepFailure. */
export async function buildWithEngine(build: EngineBuild): Promise<string> {
  const { engine, repository, folder } = build
  const auth = repository && writeAuthFile(path.join(folder, 'auth'), engine, repository)
  if (engine.name === 'docker') return buildWithDocker(build, auth)
  const iid = path.join(folder, 'iid')
  const registry = [...(auth ? ['--authfile', auth] : []), ...(repository?.insecure ? ['--tls-verify=false'] : [])]
  const cache = repository ? [`--cache-from=${repository.name}/${CACHE}`, `--cache-to=${repository.name}/${CACHE}`] : []
  build.phase?.('build the image')
  await runOrFail(build, 'The image could not be built', [
    'build',
    ...commonArguments(build),
    ...['--tag', localImageName(build)],
    ...['--iidfile', iid],
    // other formats drop SHELL and HEALTHCHECK
    ...['--format', 'docker'],
    ...(build.ignoresDockerignore ? ['--ignorefile', writeIgnoreFile(path.join(folder, 'ignore'))] : []),
    ...registry,
    ...cache,
    build.context,
  ])
  const id = fs
    .readFileSync(iid, 'utf8')
    .trim()
    .replace(/^sha256:/, '')
  if (!repository) return localReference(build.deploymentId, id)
  const digest = path.join(folder, 'digest')
  build.phase?.('push the image', registryOf(repository.name))
  build.log(`Pushing to ${repository.name}`)
  const target = `${repository.name}:${TAG_PREFIX}${build.name}`
  await runOrFail(build, `The image could not be pushed to ${repository.name}`, [
    'push',
    ...registry,
    ...['--digestfile', digest],
    localImageName(build),
    `docker://${target}`,
  ])
  await forgetCacheNames(engine, `${repository.name}/${CACHE}`, build.signal)
  if (!fs.existsSync(digest))
    throw new StepFailure(
      'TOOL_MISSING',
      'podman did not write the digest of the pushed image: with CONTAINER_HOST it needs version 4.6 or newer, here and on that host.',
    )
  return `${repository.name}@${checkedDigest(fs.readFileSync(digest, 'utf8'))}`
}

/** BuildKit pushes as part of the build. All drivers except docker's own can also keep their cache in a registry. */
async function buildWithDocker(build: EngineBuild, auth: string | null): Promise<string> {
  const { engine, repository, folder, signal } = build
  const metadata = path.join(folder, 'metadata.json')
  // with our folder for logins, docker would not find the operator's builders
  const config = dockerConfigFolder(engine.env)
  const buildx = engine.env.BUILDX_CONFIG ?? (config && path.join(config, 'buildx'))
  const before = auth ? ['--config', path.dirname(auth)] : []
  const driver = (await runEngine(engine, ['buildx', 'inspect'], signal)).lines.find((line) => /^Driver:/.test(line))
  const cached =
    repository && driver && !/^Driver:\s+docker\s*$/.test(driver) ? `${repository.name}/${CACHE}:layers` : null
  // our Dockerfile is then in our own folder, and the ignore file has to be next to it
  if (build.ignoresDockerignore) writeIgnoreFile(`${build.dockerfile}.dockerignore`)
  const name = repository ? `${repository.name}:${TAG_PREFIX}${build.name}` : localImageName(build)
  if (repository) build.phase?.('build and push the image', registryOf(repository.name))
  else build.phase?.('build the image')
  await runOrFail(
    build,
    repository ? `The image could not be built and pushed to ${repository.name}` : 'The image could not be built',
    [
      ...before,
      ...['buildx', 'build'],
      ...commonArguments(build),
      ...['--tag', name],
      ...['--progress', 'plain'],
      '--provenance=false',
      // cache mounts are separate for each deployment; podman keeps them in the build's folder
      `--build-arg=BUILDKIT_CACHE_MOUNT_NS=${build.deploymentId}`,
      ...['--metadata-file', metadata],
      ...(cached
        ? [`--cache-from=type=registry,ref=${cached}`, `--cache-to=type=registry,ref=${cached},mode=max`]
        : []),
      repository ? '--push' : '--load',
      build.context,
    ],
    buildx ? { BUILDX_CONFIG: buildx } : {},
  )
  const result = JSON.parse(fs.readFileSync(metadata, 'utf8')) as Record<string, string | undefined>
  if (repository) return `${repository.name}@${checkedDigest(result['containerimage.digest'] ?? '')}`
  const { lines } = await runEngine(engine, ['image', 'inspect', '--format', 'image {{.Id}}', name], signal)
  const id = lines.map((line) => /^image (?:sha256:)?([0-9a-f]{64})$/.exec(line)?.[1]).find(Boolean)
  if (!id) throw new Error('docker does not know the image that it has built')
  return localReference(build.deploymentId, id)
}

/** Arguments for both engines. The last secret marks the build's processes, see free-disk.ts. */
function commonArguments({ dockerfile, deploymentId, secrets, folder }: EngineBuild): string[] {
  const secretsFolder = path.join(folder, 'secrets')
  fs.mkdirSync(secretsFolder, { recursive: true, mode: 0o700 })
  const files = [...secrets, { name: 'pilothouse_build', value: '' }].map(({ name, value }, index) => {
    const file = path.join(secretsFolder, String(index))
    fs.writeFileSync(file, value, { mode: 0o600 })
    return ['--secret', `id=${name},src=${file}`]
  })
  return ['--file', dockerfile, '--label', deploymentLabel(deploymentId), ...files.flat()]
}

/** Writes an ignore file that matches nothing. An empty file would not count, and the tree's own would be read. */
function writeIgnoreFile(file: string): string {
  fs.writeFileSync(file, '.pilothouse/nothing-is-called-like-this\n', { mode: 0o600 })
  return file
}

async function runOrFail(
  build: EngineBuild,
  problem: string,
  args: string[],
  env?: Record<string, string>,
): Promise<void> {
  const tail = new OutputTail(12)
  let full = false
  let why: string | null = null
  const onLine: OnLine = (shown, line) => {
    tail.add(shown)
    full ||= NO_SPACE_OUTPUT.test(line)
    why = /^ERROR: (.+)/i.exec(shown)?.[1] ?? why
  }
  const { code } = await build.run(args, onLine, env)
  if (code === 0) return
  if (full)
    throw new StepFailure(
      'NO_SPACE',
      tail.appendTo(`${NO_SPACE_MESSAGE}, or where the engine keeps its images: free some.`),
    )
  throw new StepFailure(
    'BUILD_COMMAND_FAILED',
    tail.appendToWithFirstError(
      `${problem}: ${why ? shorten(why, build.context) : `the build log has the output of ${build.engine.name}`}.`,
    ),
  )
}

/** Shortens an engine's error message: it repeats the whole instruction before the cause. */
const shorten = (message: string, context: string): string =>
  message
    .replaceAll(context, '.')
    .replace(/ at STEP "(.{60}).+?": /, ' at STEP "$1…": ')
    .slice(0, 300)
    .replace(/\.$/, '')

function checkedDigest(text: string): string {
  const digest = text.trim()
  if (!/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new Error('The engine names no digest of the image that it has pushed')
  return digest
}

/** Writes `config.json` in `folder`, which docker uses as its configuration folder; returns its path. */
function writeAuthFile(folder: string, engine: Engine, repository: ImageRepository): string {
  const { credentials, name } = repository
  return writeLogins(folder, engine, [name.slice(0, name.indexOf('/'))], credentials, operatorsFile(engine))
}

/** The operator's first existing login file, in the engine's order. */
function operatorsFile({ name, env }: Engine): Record<string, unknown> {
  const { XDG_RUNTIME_DIR, REGISTRY_AUTH_FILE } = env
  const docker = dockerConfigFolder(env)
  const ofPodman = [
    REGISTRY_AUTH_FILE,
    XDG_RUNTIME_DIR && path.join(XDG_RUNTIME_DIR, 'containers/auth.json'),
    `/run/containers/${process.getuid?.() ?? 0}/auth.json`,
  ]
  const files = [...(name === 'podman' ? ofPodman : []), docker && path.join(docker, 'config.json')]
  const file = files.find((one) => one && fs.existsSync(one))
  return file ? readDockerConfig(file) : {}
}
