/**
 * Builds images from sources for a runtime that can only run images: loads the source onto this machine and pushes an image to
 * the registry. The source's code runs only inside the engine.
 */
import fs from 'node:fs'
import path from 'node:path'
import { loadSource, planSource, warnOfUnusedHealthPath } from '../build/load-source.ts'
import { planReport } from '../build/plan/describe-plan.ts'
import type { SuppliedServers } from '../build/plan/plan-build.ts'
import type { RunCommand } from '../build/run-command.ts'
import type { SourceAccess } from '../build/source-access.ts'
import { createMask, hiddenValues, maskFailures, passwordsOf, warnOfShortSecrets } from '../output/mask.ts'
import { StepFailure } from '../output/step-failure.ts'
import { appAccount } from '../process/isolation/choose-accounts.ts'
import { chownTreeToServer, removeTrees } from '../process/isolation/untrusted-trees.ts'
import { runGroup } from '../process/processes/process-group.ts'
import { Reaper } from '../process/processes/reaper.ts'
import { BuildQueue } from '../runtimes/build-queue.ts'
import type { Built, OnCommit, OnPlan, RevisionLog, RevisionStep, SourceBuilder } from '../runtimes/runtime.ts'
import { createSourcesFolder, makeBuildFolder } from './build-folder.ts'
import type { BaseImages } from './dockerfile.ts'
import { createImageBuilder, type ImageBuilder, type ImageBuilderOptions } from './image-builder.ts'
import { imageSource } from './image-source.ts'

export interface SourceBuilderOptions extends Omit<ImageBuilderOptions, 'reaper' | 'sourcesFolder'> {
  gitDirectory: string
  outboundAllow?: readonly string[]
  /** git's account for repositories elsewhere, when this process is root; default: `nobody` */
  appUser?: string | undefined
  sources: SourceAccess
  servers: SuppliedServers
  packageIndexes: Record<string, string>
  base: BaseImages
  maxBuilds: number
}

const BUILDER_HELP = 'Or run a builder on a machine that has an engine: pilothouse builder.'

export function createSourceBuilder(options: SourceBuilderOptions): SourceBuilder & Pick<ImageBuilder, 'problem'> {
  const { dataDir, env, sources, gitDirectory, outboundAllow = [], store, servers, base, packageIndexes } = options
  const reaper = new Reaper()
  const gitAccount = appAccount(options.appUser)
  const inFolder = createSourcesFolder(dataDir, gitAccount)
  const images = createImageBuilder({ ...options, sourcesFolder: inFolder, reaper })
  const turns = new BuildQueue(options.maxBuilds)

  async function build(
    deploymentId: string,
    step: RevisionStep,
    log: RevisionLog,
    signal: AbortSignal,
    onCommit: OnCommit,
    onPlan: OnPlan,
  ): Promise<Built> {
    const { revision } = step
    warnOfShortSecrets(revision.secrets, log, 'build')
    await images.ready(signal).catch(async (error) => {
      // only with a registry: otherwise this machine can't get an image that another machine builds
      const leave = error instanceof StepFailure && error.reason === 'NO_BUILDER'
      if (!leave || !(await store.repository(deploymentId, signal))) throw error
      throw new StepFailure('NO_BUILDER', `${error.message} ${BUILDER_HELP}`, { elsewhere: true })
    })
    if (!(await store.repository(deploymentId, signal)))
      throw new StepFailure(
        'NO_BUILDER',
        'REGISTRY_URL is not set on the server, so a cluster could not pull a built image: set it, or build the image elsewhere and create a deployment from it.',
      )
    const credentials = revision.source === 'gitprovider' ? await sources.gitCredentials(deploymentId, signal) : null
    const passwords = Object.values(packageIndexes).flatMap(passwordsOf)
    const hidden = [...hiddenValues(revision.secrets), ...(credentials ? [credentials.password] : []), ...passwords]
    const mask = createMask(hidden)
    const folder = makeBuildFolder(inFolder)
    if (gitAccount) fs.chmodSync(folder, 0o711)
    const tree = path.join(folder, 'tree')
    const run: RunCommand = (command, onLine) =>
      runGroup(reaper, { ...command, account: command.gitAccount ?? null, mask, owner: step.id }, onLine, signal)
    const line = (text: string, level?: Parameters<RevisionLog['write']>[2]) => log.write('build', mask(text), level)
    try {
      return await maskFailures(
        mask,
        (reason) => log.write('build', reason, 'error'),
        async () => {
          const searchPath = env.PATH ?? '/usr/local/bin:/usr/bin:/bin'
          const from = { revision, folder, gitDirectory, sources, credentials, searchPath, run }
          const git = { outboundAllow, gitAccount: () => gitAccount, reclaim: chownTreeToServer }
          const hint = await loadSource({ ...from, ...git, log: line, onCommit, phase: step.phase, signal }, tree)
          const plan = planSource(tree, revision, servers, hint, line)
          warnOfUnusedHealthPath(plan, revision, line)
          onPlan(planReport(plan, mask))
          const source = await imageSource(plan, tree, folder, deploymentId, revision, { base, packageIndexes })
          return { artifact: await images.build(deploymentId, step, source, log, hidden, signal) }
        },
      )
    } finally {
      await removeTrees(folder)
    }
  }

  return {
    build: (claim, step, log, signal, onCommit = () => undefined, onProgress, onPlan) =>
      turns.run({ log, signal, onProgress, onPlan }, (planned, reportPlan) =>
        build(claim.deployment.id, step, planned, signal, onCommit, reportPlan),
      ),
    problem: images.problem,
    prune: images.prune,
    remove: images.remove,
    destroy: (stepId) => reaper.kill(stepId),
    close: () => reaper.close(),
  }
}
