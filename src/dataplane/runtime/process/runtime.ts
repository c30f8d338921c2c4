/**
 * The process runtime: deployments as processes of this machine, for one server or several that share a
 * machine and a DATA_DIR.
 */
import os from 'node:os'
import type { Claim, Run } from '../../../domain/work/protocol.ts'
import { limited } from '../../backoff.ts'
import { Limit } from '../../limit.ts'
import { masking, nameUnhidden } from '../../masking.ts'
import { StepCalls } from '../calls.ts'
import type { Candidate, OnProgress, RevisionLog, RevisionStep, Runtime } from '../runtime.ts'
import { pruneArtifacts } from './artifacts.ts'
import { runBuild } from './build-step.ts'
import { prepareImage } from './container/plan.ts'
import { imageVersionOf } from './container/reference.ts'
import { createDatabase, dropDatabase } from './database.ts'
import { enlistHolder, recoverHolders } from './holders.ts'
import { createHost, openContext, type ProcessRuntimeOptions, urlOf } from './host.ts'
import { openApp } from './layout.ts'
import { supervised } from './plan.ts'
import { serverOnPort } from './port-holder.ts'
import { freePort, reservePort } from './ports.ts'
import { removeAll } from './remove.ts'
import { Serving } from './serving.ts'
import { isImage } from './sources.ts'

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
      serving = new Serving(host.guard, async () => {
        const port = await reservePort(host.ports, deploymentId)
        const { bindAddress } = host.ports
        return { port, bindAddress, holder: () => serverOnPort(host.layout.workers, port) }
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
    const { mask } = await openContext(host, id, revision, signal)
    nameUnhidden(revision.secrets, log, 'deploy')
    return masking(
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
      calls.carry(step.id, async () => {
        signal.throwIfAborted()
        const app = openApp(host.layout, claim.deployment.id, host.account)
        await createDatabase(host.admin, claim.deployment.id, app.database, signal)
      }),

    build: (claim, step, log, signal, onCommit = () => undefined, onProgress = () => undefined) => {
      nameUnhidden(step.revision.secrets, log, 'build')
      return builds.run(
        signal,
        () => {
          onProgress(null)
          return calls.carry(step.id, () => runBuild(host, claim.deployment.id, step, log, signal, onCommit))
        },
        () => {
          const message = `Waiting for its turn: this machine builds ${atATime} at a time`
          log.write('build', message)
          onProgress({ reason: 'WAITING_FOR_TURN', message: `${message}.` })
        },
      )
    },

    deploy: (claim, step, log, signal, onProgress = () => undefined) =>
      calls.carry(
        step.id,
        () => deploy(claim, step, log, signal, onProgress),
        (candidate) => candidate.discard(),
      ),

    teardown: (claim, step, signal) =>
      calls.carry(step.id, async () => {
        const { id } = claim.deployment
        await drop(id)
        signal.throwIfAborted()
        await host.containers.sweep(id)
        await dropDatabase(host.admin, id, signal)
        freePort(host.ports, id)
        await removeAll(host.layout.app(id).root)
      }),

    async destroy(stepId) {
      // its connections are cut by the signal itself (admin.ts)
      await host.guard.kill(stepId)
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
    enlist: (holder) => enlistHolder(host.layout.workers, holder),
    recoverHolders: (release) => recoverHolders(host.layout.workers, release),

    async close() {
      await Promise.all([...servings.keys()].map((id) => drop(id)))
      host.guard.close()
    },
  }
}
