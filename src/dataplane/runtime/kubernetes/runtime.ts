/**
 * The Kubernetes runtime: deployments as objects in the namespaces of one cluster. It watches and repairs what it
 * holds; who stops holding a deployment leaves it as it is, serving.
 */
import type { Logger } from 'pino'
import { StepFailure } from '../../failure.ts'
import { StepCalls } from '../calls.ts'
import type { HeldClaim, OnProgress, Runtime } from '../runtime.ts'
import type { Cluster } from './cluster/cluster.ts'
import { Follower } from './follower.ts'
import { Held, type Host } from './held.ts'
import { NO_BUILDER } from './preflight.ts'
import type { RenderOptions, VolumePolicy } from './types.ts'

export interface KubernetesRuntimeOptions {
  /** stays open when the runtime is closed: whoever opened it closes it */
  cluster: Cluster
  render: RenderOptions
  volumePolicy: VolumePolicy
  /** for deployments that name none; null: those can't be worked on */
  namespace: string | null
  log: Logger
  /** how long a pod may find no node, or its volumes may not be there. Default: 30 s, in which an autoscaler may bring a node */
  failAfterMs?: number
  /** containers whose log is followed at the same time, those of the newest pods first. Default: 200 */
  followedLogs?: number
}

export function createKubernetesRuntime(options: KubernetesRuntimeOptions): Runtime {
  const { cluster, render, volumePolicy, log, failAfterMs = 30_000, followedLogs = 200 } = options
  const follower = new Follower(cluster, followedLogs, log)
  const host: Host = { cluster, follower, render, failAfterMs, log }
  const calls = new StepCalls()
  /** by deployment */
  const helds = new Map<string, Held>()
  const unsubscribe = cluster.onChange((deploymentId) => helds.get(deploymentId)?.touched())

  const namespaceOf = ({ deployment }: HeldClaim) => deployment.k8sNamespace ?? options.namespace

  /** Null: the deployment has no namespace. */
  function find(claim: HeldClaim): Held | null {
    const namespace = namespaceOf(claim)
    if (namespace === null) return null
    const { id } = claim.deployment
    const before = helds.get(id)
    if (before?.token === claim.token) return before
    void before?.stop()
    const held = new Held(host, claim, namespace)
    helds.set(id, held)
    return held
  }

  function hold(claim: HeldClaim): Held {
    const held = find(claim)
    if (held) return held
    throw new StepFailure(
      'CONFIG_INVALID',
      'The deployment names no Kubernetes namespace, and there is no default one: set listener_config.k8s_namespace.',
    )
  }

  async function drop(deploymentId: string): Promise<void> {
    const held = helds.get(deploymentId)
    helds.delete(deploymentId)
    await held?.stop()
  }

  return {
    provision: (claim, step, signal, onProgress = unheard) =>
      calls.carry(step.id, async () => hold(claim).provision(step, signal, onProgress)),
    async build() {
      throw new StepFailure('NO_BUILDER', NO_BUILDER)
    },
    deploy: (claim, step, revisionLog, signal, onProgress = unheard) =>
      calls.carry(
        step.id,
        async () => hold(claim).deploy(step, revisionLog, signal, onProgress),
        (candidate) => candidate.discard(),
      ),
    teardown: (claim, step, signal) =>
      // without a namespace nothing can have been made
      calls.carry(step.id, async () => find(claim)?.teardown(step, volumePolicy, signal)),
    // it has no processes; each of its requests has a time limit, and writes need the lease
    destroy: async (stepId) => calls.abandon(stepId),
    ensure: (claim, run, revisionLog) => find(claim)?.ensure(run, revisionLog),
    // images are not ours to remove
    prune: async () => undefined,
    drop,
    health: (deploymentId) => helds.get(deploymentId)?.health,
    // a holder that is dead is known by its lease alone: nothing of it runs on this machine
    enlist: async () => async () => undefined,
    recoverHolders: async () => undefined,
    async close() {
      unsubscribe()
      await Promise.all([...helds.keys()].map((id) => drop(id)))
      follower.close()
    },
  }
}

const unheard: OnProgress = () => undefined
