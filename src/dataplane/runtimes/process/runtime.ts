/**
 * The process runtime: deployments as processes of this machine, for one server or several that share a
 * machine and a DATA_DIR.
 */
import os from 'node:os'
import type { Claim, Run } from '../../../domain/protocol/protocol.ts'
import { Limit } from '../../../platform/async/limit.ts'
import { limited } from '../../../platform/async/time-limit.ts'
import { maskFailures, warnOfUnhidden } from '../../output/mask-failure.ts'
import type { Candidate, OnProgress, RevisionLog, RevisionStep, Runtime } from '../runtime.ts'
import { StepCalls } from '../step-calls.ts'
import { pruneArtifacts } from './agents/artifacts.ts'
import { isImage, prepareImage } from './agents/container-plan.ts'
import { supervised } from './agents/plan.ts'
import { Serving } from './agents/serving.ts'
import { runBuild } from './build-step.ts'
import { imageVersionOf } from './engine/reference.ts'
import { prepareContext, prepareFolders } from './host/context.ts'
import { createDatabase, dropDatabase } from './host/database.ts'
import { createHost, type ProcessRuntimeOptions, urlOf } from './host/host.ts'
import { freePort, reservePort } from './host/ports.ts'
import { registerWorker, releaseDeadWorkers, serverOnPort } from './host/worker-registry.ts'

/** a deploy that is not ready this long before its deadline fails with what was wrong, instead of being cut off */
const DEADLINE_MARGIN_MS = 3000

/** Throws when the account for builds and agents does not exist. */
export function createProcessRuntime(options: ProcessRuntimeOptions): Runtime {
  const host = createHost(options)
  const atATime = Math.max(2, os.availableParallelism())
  const builds = new Limit(atATime)
  const calls = new StepCalls()
  const servings = new Map<string, Serving>()

  function servingOf(deploymentId: string): Serving {
    let serving = servings.get(deploymentId)
    if (!serving) {
      serving = new Serving(host.reaper, async () => {
        const port = await reservePort(host.ports, deploymentId)
        const { bindAddress } = host.ports
        return { port, bindAddress, owner: () => serverOnPort(host.layout.workers, port) }
      })
      servings.set(deploymentId, serving)
    }
    return serving
  }

  async function drop(deploymentId: string, drainMs = 0): Promise<void> {
    const serving = servings.get(deploymentId)
    if (!serving) return
    await serving.close(drainMs)
    if (servings.get(deploymentId) === serving) servings.delete(deploymentId)
  }

  async function deploy(
    claim: Claim,
    step: RevisionStep,
    log: RevisionLog,
    signal: AbortSignal,
    onProgress: OnProgress,
  ): Promise<Candidate> {
    const { id } = claim.deployment
    const { revision } = step
    const { mask } = await prepareContext(host, id, revision, signal)
    warnOfUnhidden(revision.secrets, log, 'deploy')
    return maskFailures(
      mask,
      (reason) => log.write('deploy', reason, 'error'),
      async () => {
        const serving = servingOf(id)
        onProgress({ reason: 'IN_PROGRESS', message: 'The address of the deployment is being opened.' })
        const port = await serving.open(signal)
        const left = Math.max(1000, step.deadlineAt.getTime() - Date.now() - DEADLINE_MARGIN_MS)
        const { candidate, image } = await limited(left, signal, async (inTime) => {
          const pulls = isImage(revision.source)
          if (pulls) onProgress({ reason: 'PULLING_IMAGE', message: `The image ${revision.imageUri} is being pulled.` })
          const image = pulls ? await prepareImage(host, id, revision, log, inTime) : null
          return {
            image,
            candidate: await serving.prepare(
              supervised(host, id, revision, step.spec, log, step.id),
              inTime,
              onProgress,
            ),
          }
        })
        const url = urlOf(host, port)
        // where an external image is reached here: its custom_url is the user's own
        if (image) log.write('deploy', `The address of this deployment is ${url}`)
        return {
          url,
          ...(image ? { imageVersion: imageVersionOf(revision.imageUri, image.digest) } : {}),
          commit: (record) => serving.handOver(candidate, record),
          discard: () => candidate.end(),
        }
      },
    )
  }

  return {
    provision: (claim, step, signal) =>
      calls.run(step.id, async () => {
        signal.throwIfAborted()
        const { app } = await prepareFolders(host, claim.deployment.id)
        await createDatabase(host.admin, claim.deployment.id, app.database, signal)
      }),

    build: (claim, step, log, signal, onCommit = () => undefined, onProgress = () => undefined) => {
      warnOfUnhidden(step.revision.secrets, log, 'build')
      return builds.run(
        signal,
        () => {
          onProgress(null)
          return calls.run(step.id, () => runBuild(host, claim.deployment.id, step, log, signal, onCommit))
        },
        () => {
          const message = `Waiting for its turn: this machine builds ${atATime} at a time`
          log.write('build', message)
          onProgress({ reason: 'WAITING_FOR_TURN', message: `${message}.` })
        },
      )
    },

    deploy: (claim, step, log, signal, onProgress = () => undefined) =>
      calls.run(
        step.id,
        () => deploy(claim, step, log, signal, onProgress),
        (candidate) => candidate.discard(),
      ),

    teardown: (claim, step, signal) =>
      calls.run(step.id, async () => {
        const { id } = claim.deployment
        await drop(id)
        signal.throwIfAborted()
        await host.containers.sweep(id)
        await dropDatabase(host.admin, id, signal)
        freePort(host.ports, id)
        await host.accounts.remove(id)
      }),

    async destroy(stepId) {
      // its connections are cut by the signal itself (admin.ts)
      await host.reaper.kill(stepId)
      calls.abandon(stepId)
    },

    ensure(claim: Claim, run: Run | null, log: RevisionLog | null) {
      const { id } = claim.deployment
      if (run && log) servingOf(id).keep(supervised(host, id, run.revision, run.spec, log, run.revision.id))
      else servings.get(id)?.keep(null)
    },

    async prune(deploymentId, keepArtifacts) {
      const used = servings.get(deploymentId)?.artifacts ?? []
      // of a server that was killed; what can't be removed now is tried again
      await host.containers.sweep(deploymentId).catch(() => undefined)
      await pruneArtifacts(host.layout.app(deploymentId), new Set([...keepArtifacts, ...used]))
    },

    drop,
    health: (deploymentId) => servings.get(deploymentId)?.health,
    registerHolder: (holder) => registerWorker(host.layout.workers, holder),
    releaseDeadHolders: (release) => releaseDeadWorkers(host.layout.workers, release),

    async close() {
      await Promise.all([...servings.keys()].map((id) => drop(id)))
      host.reaper.close()
    },
  }
}
