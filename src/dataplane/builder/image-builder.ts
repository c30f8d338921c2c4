/**
 * Builds images on this machine, with podman or docker: where its runtime has no use for a folder, or the source brings a
 * Dockerfile. What is built is pushed to the registry, or stays in the engine where there is none.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { limited } from '../../platform/async/time-limit.ts'
import { createMask } from '../output/mask.ts'
import { StepFailure } from '../output/step-failure.ts'
import { imageArtifact, localImageId, parseArtifact } from '../runtimes/artifact.ts'
import { createEngineFinder, type EngineName } from '../runtimes/process/engine/engine.ts'
import { runGroup } from '../runtimes/process/processes/process-group.ts'
import type { Reaper } from '../runtimes/process/processes/reaper.ts'
import { removeTrees } from '../runtimes/process/processes/untrusted-trees.ts'
import type { RevisionLog, RevisionStep } from '../runtimes/runtime.ts'
import { abandonedFolders, makeBuildFolder, recordedImageName, recordImageName } from './build-folder.ts'
import { buildProblem, buildWithEngine, localImageName } from './engine-build.ts'
import { diskShortage, withFreeDisk } from './free-disk.ts'
import type { ImageStore } from './image-store.ts'
import { endProcesses, removeLeftovers } from './leftovers.ts'
import { removeImages } from './local-images.ts'
import { pidNamespaceCommand } from './pid-namespace.ts'

export interface ImageBuilderOptions {
  engine: 'auto' | EngineName | 'none'
  /** of the server's environment, what an engine is run with; PATH among it */
  env: Record<string, string>
  /** absolute */
  dataDir: string
  reaper: Reaper
  store: ImageStore
  /** MB that stay free on the disks of DATA_DIR and the engine; 0: no bound */
  freeDiskMb: number
  /** false: once it is pushed, nothing of an image stays here; what comes next begins with what the registry has. Default: true */
  keepsImages?: boolean
  /** absolute: has folders of builds, too, of which nothing is to be left; default: none */
  sourcesFolder?: string
  /** that removing images of a deployment may take at a time; default: PRUNE_MS */
  pruneTimeoutMs?: number
  /** gets a line for the operator */
  warn: (about: object, message: string) => void
}

/** What an image is made of. */
export interface ImageSource {
  /** absolute paths: the Dockerfile, and the folder that it copies from, which nobody changes meanwhile */
  dockerfile: string
  context: string
  /** the context is copied from as it is, whatever a .dockerignore in it says */
  ignoresDockerignore: boolean
  /** for RUN steps that ask for them by name */
  secrets: readonly { name: string; value: string }[]
}

export interface ImageBuilder {
  /** Throws StepFailure when there is no engine: before anything is fetched for a build. */
  ready(signal: AbortSignal): Promise<void>
  /** Why nothing can be built now, in words; null: it can. */
  problem(signal: AbortSignal): Promise<string | null>
  /** Returns the artifact. `hidden`: what is never shown. Rejects when the signal aborts, after all of the build has ended. */
  build(
    deploymentId: string,
    step: RevisionStep,
    source: ImageSource,
    log: RevisionLog,
    hidden: readonly string[],
    signal: AbortSignal,
  ): Promise<string>
  /** Removes what builds of the deployment have made, but these artifacts. Cheap while nothing has changed. */
  prune(deploymentId: string, keep: readonly string[]): Promise<void>
  /** The deployment is gone, and so are its images. Never throws: an image that stays disturbs nobody. */
  remove(deploymentId: string): Promise<void>
}

/** ms */
const PRUNE_TIMEOUT_MS = 20_000

const NO_ENGINE_HELP =
  'BUILDER has to name a container engine that works where images are built: install podman or docker there, or build the image elsewhere and create a deployment from it.'

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
  /** by deployment: what was to be kept when it was last looked at */
  const pruned = new Map<string, string>()
  const findEngine = createEngineFinder({
    reaper,
    engine: engineChoice,
    env,
    check: buildProblem,
    noEngine: (problems) =>
      new StepFailure(
        'NO_BUILDER',
        `An image has to be built, and there is nothing to build it with (${problems || 'BUILDER is none'}): ${NO_ENGINE_HELP}`,
      ),
  })
  const sweeping = sweep().catch((error) =>
    warn({ err: error }, 'What an ended server’s builds have left could not be removed'),
  )

  async function sweep(): Promise<void> {
    const left = [...new Set([builds, options.sourcesFolder ?? builds])].flatMap(abandonedFolders)
    for (const folder of left) endProcesses(folder)
    if (left.length === 0) return
    // also where no engine works any more; the folders themselves say what it still has to remove
    await removeTrees(...left.flatMap((folder) => ['secrets', 'auth', 'tree'].map((name) => path.join(folder, name))))
    const engine = await findEngine(new AbortController().signal)
    for (const folder of left) await removeLeftovers(engine, folder, recordedImageName(folder))
    await removeTrees(...left)
  }

  /** The next step of the deployment waits for it, whatever becomes of registry and engine: what is left is for the next time. */
  function removeAllBut(deploymentId: string, keep: { ids: string[]; digests: string[] }): Promise<void> {
    return limited(pruneTimeoutMs, undefined, async (inTime) => {
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
      /** An engine that does not answer takes the place neither of what was made nor of what went wrong. */
      const removeWhatIsLeft = () =>
        removeLeftovers(engine, folder, image).catch((problem) =>
          warn({ err: problem, deploymentId }, 'What a build of an image has left could not be removed'),
        )
      const mask = createMask([...hidden, ...(repository ? [repository.credentials.password] : [])])
      const confined = pidNamespaceCommand()
      try {
        const reference = await withFreeDisk([dataDir, engine.storage], freeDiskMb, signal, (stop) =>
          buildWithEngine({
            ...{ engine, deploymentId, name, folder, ...source, repository, signal: stop },
            log: (line) => log.write('build', mask(line)),
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
      // what is so when a server begins was looked at by the one before
      if (before === undefined || before === key) return
      const ids = references.flatMap((reference) => localImageId(reference) ?? [])
      const digests = references.flatMap((reference) =>
        localImageId(reference) ? [] : (reference.split('@')[1] ?? []),
      )
      try {
        await removeAllBut(deploymentId, { ids, digests })
      } catch (error) {
        // it is tried again when something is built or deployed
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
        warn({ err: error, deploymentId }, 'The images of a deployment that is gone could not be removed')
      }
    },
  }
}
