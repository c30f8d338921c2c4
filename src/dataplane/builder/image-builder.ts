/**
 * Builds images on this machine with podman or docker and pushes them to the registry; without a registry they stay in the
 * engine.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { withTimeout } from '../../platform/async/time-limit.ts'
import { createMask } from '../output/mask.ts'
import { StepFailure } from '../output/step-failure.ts'
import { createEngineFinder, type EngineName } from '../process/engine/engine.ts'
import { removeTrees } from '../process/isolation/untrusted-trees.ts'
import { runGroup } from '../process/processes/process-group.ts'
import type { Reaper } from '../process/processes/reaper.ts'
import { imageArtifact, localImageId, parseArtifact } from '../runtimes/artifact.ts'
import type { RevisionLog, RevisionStep } from '../runtimes/runtime.ts'
import { abandonedFolders, makeBuildFolder, recordedImageName, recordImageName } from './build-folder.ts'
import { buildProblem, buildWithEngine, localImageName } from './engine-build.ts'
import { diskShortage, endProcesses, removeLeftovers, withFreeDisk } from './free-disk.ts'
import type { ImageStore } from './image-store.ts'
import { removeImages } from './local-images.ts'

export interface ImageBuilderOptions {
  engine: 'auto' | EngineName | 'none'
  env: Record<string, string>
  dataDir: string
  reaper: Reaper
  store: ImageStore
  /** free space in MB to keep on the disks of DATA_DIR and the engine; 0: no limit */
  freeDiskMb: number
  /** false: remove an image from this machine once it is pushed; later builds use the registry's cache. Default: true */
  keepsImages?: boolean
  /** absolute path of another folder with build folders to clean up; default: none */
  sourcesFolder?: string
  /** longest time for one removal of a deployment's images; default: PRUNE_TIMEOUT_MS */
  pruneTimeoutMs?: number
  warn: (about: object, message: string) => void
}

export interface ImageSource {
  /** absolute paths of the Dockerfile and its context folder, which must not change during the build */
  dockerfile: string
  context: string
  /** ignore a .dockerignore in the context */
  ignoresDockerignore: boolean
  secrets: readonly { name: string; value: string }[]
}

export interface ImageBuilder {
  /** Throws StepFailure when no engine works. Called before a build fetches anything. */
  ready(signal: AbortSignal): Promise<void>
  problem(signal: AbortSignal): Promise<string | null>
  /** Returns the artifact. `hidden`: values to mask. When the signal aborts, rejects after the whole build has ended. */
  build(
    deploymentId: string,
    step: RevisionStep,
    source: ImageSource,
    log: RevisionLog,
    hidden: readonly string[],
    signal: AbortSignal,
  ): Promise<string>
  /** Removes the deployment's images except these artifacts. Cheap when nothing has changed. */
  prune(deploymentId: string, keep: readonly string[]): Promise<void>
  /** Removes all images of a deleted deployment. Never throws: a remaining image does no harm. */
  remove(deploymentId: string): Promise<void>
}

const PRUNE_TIMEOUT_MS = 20_000

const NO_ENGINE_HELP =
  'install podman or docker where images are built, check BUILDER there, or build the image elsewhere and create a deployment from it.'

export function createImageBuilder(options: ImageBuilderOptions): ImageBuilder {
  const {
    engine: engineChoice,
    env,
    dataDir,
    reaper,
    store,
    freeDiskMb,
    keepsImages = true,
    pruneTimeoutMs = PRUNE_TIMEOUT_MS,
    warn,
  } = options
  const builds = path.join(dataDir, 'images', 'builds')
  const noted = (deploymentId: string) => path.join(dataDir, 'images', 'of', deploymentId)
  /** deployment id → hash of the artifacts to keep at the last prune */
  const pruned = new Map<string, string>()
  const findEngine = createEngineFinder({
    reaper,
    engine: engineChoice,
    env,
    check: buildProblem,
    noEngine: (problems) =>
      new StepFailure(
        'NO_BUILDER',
        `No container engine can build the image (${problems || 'BUILDER is none'}): ${NO_ENGINE_HELP}`,
      ),
  })
  const sweeping = sweep().catch((error) =>
    warn({ err: error }, 'Files, containers or images of an ended server’s builds could not be removed'),
  )

  async function sweep(): Promise<void> {
    const left = [...new Set([builds, options.sourcesFolder ?? builds])].flatMap(abandonedFolders)
    for (const folder of left) endProcesses(folder)
    if (left.length === 0) return
    // secrets first, even if no engine works; the folders still tell what the engine has to remove
    await removeTrees(...left.flatMap((folder) => ['secrets', 'auth', 'tree'].map((name) => path.join(folder, name))))
    const engine = await findEngine(new AbortController().signal)
    for (const folder of left) await removeLeftovers(engine, folder, recordedImageName(folder))
    await removeTrees(...left)
  }

  /**
   * Removes a deployment's images. The deployment's next step waits for this, so it ends at the timeout; the rest is removed next
   * time.
   */
  function removeAllBut(deploymentId: string, keep: { ids: string[]; digests: string[] }): Promise<void> {
    return withTimeout(pruneTimeoutMs, undefined, async (inTime) => {
      await store.prune(deploymentId, keep.digests, inTime)
      if (fs.existsSync(noted(deploymentId))) await removeImages(await findEngine(inTime), deploymentId, keep, inTime)
    })
  }

  return {
    ready: async (signal) => void (await findEngine(signal)),

    async problem(signal) {
      try {
        const { storage } = await findEngine(signal)
        return diskShortage([dataDir, storage], freeDiskMb)?.message ?? null
      } catch (error) {
        if (error instanceof StepFailure) return error.message
        throw error
      }
    },

    async build(deploymentId, step, source, log, hidden, signal) {
      await sweeping
      const engine = await findEngine(signal)
      const repository = await store.repository(deploymentId, signal)
      const folder = makeBuildFolder(builds)
      const { revision } = step
      const name = `${revision.id}.${revision.attempt}.${step.tries}`
      const image = localImageName({ deploymentId, name })
      recordImageName(folder, image)
      if (keepsImages) {
        fs.mkdirSync(noted(deploymentId), { recursive: true, mode: 0o700 })
        pruned.set(deploymentId, '')
      }
      /** Failures here must hide neither the result nor the error of the build. */
      const removeWhatIsLeft = () =>
        removeLeftovers(engine, folder, image).catch((problem) =>
          warn({ err: problem, deploymentId }, 'Containers or the image of an ended image build could not be removed'),
        )
      const mask = createMask([...hidden, ...(repository ? [repository.credentials.password] : [])])
      const confined = pidNamespaceCommand()
      try {
        const reference = await withFreeDisk([dataDir, engine.storage], freeDiskMb, signal, (stop) =>
          buildWithEngine({
            ...{ engine, deploymentId, name, folder, ...source, repository, signal: stop },
            log: (line) => log.write('build', mask(line)),
            phase: step.phase,
            async run(args, onLine, more) {
              const command = {
                command: confined[0] ?? engine.name,
                args: [...confined.slice(1), ...(confined.length > 0 ? [engine.name] : []), ...args],
                cwd: '/',
                env: { ...engine.env, ...more, TMPDIR: path.join(folder, 'tmp') },
                ...{ account: null, owner: step.id, mask },
              }
              const print: typeof onLine = (shown, line, styles) => {
                onLine(shown, line, styles)
                log.print('build', shown, styles)
              }
              return runGroup(reaper, command, print, stop)
            },
          }),
        )
        signal.throwIfAborted()
        if (!keepsImages) await removeWhatIsLeft()
        return imageArtifact(reference)
      } catch (error) {
        endProcesses(folder)
        await removeWhatIsLeft()
        throw error
      } finally {
        await removeTrees(folder)
      }
    },

    async prune(deploymentId, keep) {
      const references = keep.map(parseArtifact).flatMap(({ kind, name }) => (kind === 'image' ? [name] : []))
      const key = createHash('sha256').update(references.sort().join('\n')).digest('hex')
      const before = pruned.get(deploymentId)
      pruned.set(deploymentId, key)
      // the server before this one has already pruned this state
      if (before === undefined || before === key) return
      const ids = references.flatMap((reference) => localImageId(reference) ?? [])
      const digests = references.flatMap((reference) =>
        localImageId(reference) ? [] : (reference.split('@')[1] ?? []),
      )
      try {
        await removeAllBut(deploymentId, { ids, digests })
      } catch (error) {
        // try again at the next build or deploy
        pruned.set(deploymentId, before)
        throw error
      }
    },

    async remove(deploymentId) {
      pruned.delete(deploymentId)
      try {
        await removeAllBut(deploymentId, { ids: [], digests: [] })
        await removeTrees(noted(deploymentId))
      } catch (error) {
        warn({ err: error, deploymentId }, 'The images of a deleted deployment could not be removed')
      }
    },
  }
}

const UNSHARE = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']

let found: string[] | null = null

/** Words before the engine's command; empty where this machine can't create the namespaces. */
function pidNamespaceCommand(): string[] {
  found ??= works() ? UNSHARE : []
  return found
}

function works(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  try {
    const [program, ...args] = UNSHARE
    execFileSync(program!, [...args, 'true'], { stdio: 'ignore', env: { PATH: '/usr/bin:/bin' } })
    return true
  } catch {
    return false
  }
}
