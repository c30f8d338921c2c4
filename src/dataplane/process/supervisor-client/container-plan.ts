/** Plans the start of an agent from an image: the engine's client runs in the foreground, for the container. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { StepFailure } from '../../output/step-failure.ts'
import { imageOf, localImageId, namesImage } from '../../runtimes/artifact.ts'
import type { Engine } from '../engine/engine.ts'
import type { ResourceLimits } from '../isolation/resource-limits.ts'
import type { RevisionContext } from '../machine/app-context.ts'
import type { AgentPlan, ImageProgram } from '../supervisor/protocol.ts'
import { findImage, type Image, ImageGone, pullImage, pullReference } from './pull.ts'

/** time between SIGTERM and SIGKILL when a container is removed */
const STOP_SECONDS = 1

/** Gets the image of a revision for its deploy. Later starts use exactly this image. Throws StepFailure. */
export async function prepareImage(context: RevisionContext): Promise<Image> {
  const engine = await context.machine.containers.engine(context.signal)
  const image = await getImage(engine, context)
  const file = imageFile(context)
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  fs.writeFileSync(file, JSON.stringify(image), { mode: 0o600 })
  return image
}

/** Pulls an image unless it was built here and not pushed. If such an image is gone, a redeploy builds it again. */
async function getImage(engine: Engine, context: RevisionContext): Promise<Image> {
  const { revision, signal } = context
  const reference = imageOf(revision)
  const local = reference === null ? null : localImageId(reference)
  if (local !== null && namesImage(revision))
    throw new StepFailure(
      'CONFIG_INVALID',
      `The image ${reference} can't be used: names below localhost/pilothouse/ are reserved for builds. Name another image.`,
    )
  try {
    if (local === null) return await pullImage(engine, pullReference(reference), context)
    const found = await findImage(engine, local, signal)
    if (found) return found
  } catch (error) {
    if (!(error instanceof ImageGone) || revision.artifact === null) throw error
  }
  throw new StepFailure(
    'ARTIFACT_LOST',
    'The image of this revision is no longer on this machine. Redeploy to build it again.',
    { artifactLost: true },
  )
}

/** The program that runs the image, and the environment of the engine's client. Throws StepFailure. */
export async function containerProgram(
  context: RevisionContext & Pick<AgentPlan, 'key'>,
  bounds: ResourceLimits,
  env: Record<string, string>,
): Promise<{ program: ImageProgram; variables: Record<string, string> }> {
  const { machine, deploymentId, key, signal } = context
  const engine = await machine.containers.engine(signal)
  // the image has its own values
  const { PATH, HOME, USER, LOGNAME, ...others } = env
  const environment = containerEnvironment(others)
  const image = (await recordedImage(engine, context)) ?? (await prepareImage(context))
  const { name, labels, envFile } = machine.containers.plan(deploymentId, key)
  const copied = ['PORT', ...Object.keys(environment.clientEnv)].flatMap((variable) => ['--env', variable])
  const program: ImageProgram = {
    kind: 'image',
    engine: engine.name,
    clientEnv: engine.env,
    container: name,
    envFile: { path: envFile, text: environment.file },
    args: [
      '--rm',
      ...['--name', name],
      ...labels.flatMap((label) => ['--label', label]),
      ...['--pull', 'never'],
      ...['--network', 'host'],
      ...['--log-driver', 'none'],
      ...['--stop-timeout', String(STOP_SECONDS)],
      ...['--security-opt', 'no-new-privileges'],
      // podman would pass the server's proxy settings to the container
      ...(engine.name === 'podman' ? ['--http-proxy=false'] : []),
      ...limitOptions(engine, bounds),
      ...['--env-file', envFile],
      ...copied,
      image.id,
    ],
  }
  return { program, variables: environment.clientEnv }
}

function limitOptions({ supports }: Engine, { memoryMb, cpus, processes }: ResourceLimits): string[] {
  return [
    // engines reject more CPUs than the machine has
    ...(supports.cpu && cpus ? ['--cpus', String(Math.min(cpus, os.cpus().length))] : []),
    ...(supports.memory && memoryMb ? ['--memory', `${Math.round(memoryMb * 1e6)}b`] : []),
    ...(supports.processes && processes ? ['--pids-limit', String(processes)] : []),
  ]
}

const imageFile = ({ machine, deploymentId, revision }: RevisionContext): string =>
  path.join(machine.layout.app(deploymentId).root, 'images', `${revision.id}.json`)

/** The image of the revision's last deploy; null: it is not on this machine. */
async function recordedImage(engine: Engine, context: RevisionContext): Promise<Image | null> {
  const file = imageFile(context)
  if (!fs.existsSync(file)) return null
  const { id } = JSON.parse(fs.readFileSync(file, 'utf8')) as Image
  return findImage(engine, id, context.signal)
}

/** engines read lines up to 64 KiB */
const MAX_LINE_BYTES = 60_000

/** Variables that affect the engine's client, its helpers or their loader: no secret may set them. */
const CLIENT_VARIABLES =
  /^(LD_|GO|DOCKER_|CONTAINER|PODMAN|XDG_|DBUS_|BUILDAH_|STORAGE_|REGISTRY_|REGISTRIES_|SSL_|TMPDIR$|PATH$|HOME$|PORT$|_|NOTIFY_|LISTEN_|MALLOC_|GCONV_|LOCPATH$|NLSPATH$|BASH|ENV$|IFS$|SHELL|PS4$|LC_|LANG|(ALL|HTTPS?|NO)_PROXY$)/i

/**
 * Passes variables to a container by a file (0600), because arguments are visible to every account. The file has one line per
 * variable; other values go by `--env NAME` from the client's environment, which only its own account can read.
 */
function containerEnvironment(variables: Record<string, string>): { file: string; clientEnv: Record<string, string> } {
  const lines: string[] = []
  const clientEnv: Record<string, string> = {}
  for (const [name, value] of Object.entries(variables)) {
    if (!/[\r\n]/.test(value) && Buffer.byteLength(value) < MAX_LINE_BYTES) {
      lines.push(`${name}=${value}\n`)
      continue
    }
    if (CLIENT_VARIABLES.test(name))
      throw new StepFailure(
        'CONFIG_INVALID',
        `The secret ${name} has line breaks or is very long, and this name is reserved by the container engine: rename it.`,
      )
    clientEnv[name] = value
  }
  return { file: lines.join(''), clientEnv }
}
