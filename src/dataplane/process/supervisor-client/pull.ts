/** Pulls an image onto this machine and explains a failed pull. */
import { parseImageReference } from '../../../domain/values/image-reference.ts'
import { type OnLine, OutputTail } from '../../output/lines.ts'
import { createMask } from '../../output/mask.ts'
import { NO_SPACE_OUTPUT, StepFailure } from '../../output/step-failure.ts'
import { type Engine, runEngine } from '../engine/engine.ts'
import { withPullCredentials } from '../engine/logins.ts'
import type { RevisionContext } from '../machine/app-context.ts'

export interface Image {
  /** the engine's id: identifies exactly this image, even if its tag moves */
  id: string
  /** `sha256:…` of its manifest, if the engine knows it */
  digest: string | null
}

interface PullReference {
  /** a form that every engine reads the same way */
  full: string
  registry: string
  /** `localhost/…`: the image was built on this machine and can't be pulled */
  local: boolean
}

/** A name without a registry belongs to docker.io, as in a cluster. If there are a tag and a digest, the digest counts. */
export function pullReference(imageUri: string | null): PullReference {
  const parsed = parseImageReference(imageUri ?? '')
  if (typeof parsed === 'string')
    throw new StepFailure('CONFIG_INVALID', 'This revision has no valid image reference: set image_uri.')
  const { host, path, tag, digest } = parsed
  const registry = host ?? 'docker.io'
  const repository = host === null && !path.includes('/') ? `library/${path}` : path
  const version = digest ? `@${digest}` : tag ? `:${tag}` : ''
  return { full: `${registry}/${repository}${version}`, registry, local: registry === 'localhost' }
}

/** An image under localhost/ is never pulled. Throws StepFailure when the image can't be pulled or found. */
export async function pullImage(
  engine: Engine,
  { full, registry, local }: PullReference,
  { machine, deploymentId, log, signal }: RevisionContext,
): Promise<Image> {
  if (!local) {
    const credentials = await machine.options.sources.imageCredentials(deploymentId, full, signal)
    const mask = createMask(credentials ? [credentials.password] : [])
    // docker has this in its own settings
    const tlsOptions = credentials?.insecure && engine.name === 'podman' ? ['--tls-verify=false'] : []
    const tail = new OutputTail()
    log.write('deploy', `Pulling ${full}`)
    const onLine: OnLine = (shown, _line, styles) => {
      tail.add(shown)
      log.print('deploy', shown, styles)
    }
    try {
      const { code } = await withPullCredentials(
        machine.containers.folder,
        engine,
        registry,
        credentials,
        (before, after) => engine.run([...before, 'pull', ...after, ...tlsOptions, full], onLine, signal, mask),
      )
      if (code !== 0) {
        const printed = tail.appendTo('')
        const Failure = isMissing(full, printed) ? ImageGone : StepFailure
        const reason = NO_SPACE_OUTPUT.test(printed) ? 'NO_SPACE' : 'IMAGE_PULL_FAILED'
        throw new Failure(reason, tail.appendTo(explain(full, registry, printed)))
      }
    } catch (error) {
      if (!signal.aborted || (signal.reason as Error).name !== 'TimeoutError') throw error
      throw new StepFailure('IMAGE_PULL_FAILED', tail.appendTo(`${full} was not pulled in time.`))
    }
  }
  const image = await findImage(engine, full, signal)
  if (image) return image
  throw new StepFailure(
    'IMAGE_PULL_FAILED',
    `There is no image ${full} on this machine: names below localhost/ are local images. Name the registry of the image.`,
  )
}

/** Finds an image of this machine by name or id. Null: there is none. */
export async function findImage(engine: Engine, name: string, signal: AbortSignal): Promise<Image | null> {
  const { ok, lines } = await runEngine(
    engine,
    ['image', 'inspect', '--format', 'image {{.Id}} {{json .RepoDigests}}', name],
    signal,
  )
  const found = ok ? lines.map((line) => /^image (\S+) (.*)$/.exec(line)).find(Boolean) : null
  return found ? { id: found[1]!, digest: /@(sha256:[0-9a-f]{64})/.exec(found[2]!)?.[1] ?? null } : null
}

const NOT_FOUND = /manifest unknown|name unknown|not found|no such image/i

/** The only place that parses engine output: engines have no error codes and print what network and registry report. */
const REASONS: [RegExp, (image: string, registry: string) => string][] = [
  [
    /no such host|connection refused|timeout|timed out|unreachable|name resolution|server misbehaving|x509|tls:|HTTP response to HTTPS|connection reset/i,
    (image, registry) => `${image} could not be pulled: the registry ${registry} can't be reached from this machine.`,
  ],
  [
    /unauthorized|denied|authentication required|forbidden|invalid username/i,
    (image, registry) =>
      `${image} could not be pulled: the registry ${registry} denies access. The image is private, or does not exist.`,
  ],
  [
    NOT_FOUND,
    (image, registry) => `There is no image ${image} in the registry ${registry}: check its name and its tag.`,
  ],
  [
    /no matching manifest|no image found in (manifest list|image index)/i,
    (image) => `${image} was not built for this kind of machine (${process.platform}, ${process.arch}).`,
  ],
  [NO_SPACE_OUTPUT, () => 'The image could not be pulled: there is no space left on this machine.'],
]

/** The registry does not have the image (any more). */
export class ImageGone extends StepFailure {}

const isMissing = (image: string, output: string): boolean => reasonOf(image, output)?.[0] === NOT_FOUND

function reasonOf(image: string, output: string) {
  // the image name may contain any of these words
  const text = output.replaceAll(image, '').replaceAll(image.replace(/[:@][^/]*$/, ''), '')
  return REASONS.find(([pattern]) => pattern.test(text))
}

function explain(image: string, registry: string, output: string): string {
  const reason = reasonOf(image, output)
  return reason ? reason[1](image, registry) : `${image} could not be pulled.`
}
