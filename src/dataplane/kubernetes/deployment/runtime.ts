/** Runs deployments as objects in the namespaces of one cluster. They keep serving when a claim ends. See README.md. */
import type { Logger } from 'pino'
import { createNotifier } from '../../../platform/async/notifier.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { QueueBacklogs, type QueueSettings } from '../../runtimes/queue-backlogs.ts'
import type { LeasedClaim, OnProgress, Runtime, SourceBuilder } from '../../runtimes/runtime.ts'
import { StepCalls } from '../../runtimes/step-calls.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { RenderOptions, VolumePolicy } from '../objects/types.ts'
import { RestartLimit } from '../rollout/infrastructure-restarts.ts'
import { createMeasure } from '../rollout/measure.ts'
import type { ControllerContext } from './controller-context.ts'
import { DeploymentController } from './deployment-controller.ts'
import { LogFollower } from './log-follower.ts'
import { NO_BUILDER } from './preflight.ts'

export interface KubernetesRuntimeOptions {
  /** the caller opens and closes it */
  cluster: Cluster
  render: RenderOptions
  volumePolicy: VolumePolicy
  /** default: no queue is looked at */
  queues?: QueueSettings | undefined
  /** namespace of deployments that name none; null: they fail with CONFIG_INVALID */
  namespace: string | null
  /** null: the runtime can't build and runs only prebuilt images */
  images?: SourceBuilder | null
  log: Logger
  /** ms that a pod may stay unschedulable or without volumes; default: 30 s, for a cluster autoscaler to add a node */
  failAfterMs?: number
  /** maximum number of followed container logs; the newest pods win. Default: 200 */
  followedLogs?: number
}

export function createKubernetesRuntime(options: KubernetesRuntimeOptions): Runtime {
  const { cluster, render, volumePolicy, images = null, log, failAfterMs = 30_000, followedLogs = 200 } = options
  const follower = new LogFollower(cluster, followedLogs, log)
  const calls = new StepCalls()
  const measure = createMeasure(cluster)
  const queues = new QueueBacklogs(options.queues)
  /** by deployment id */
  const controllers = new Map<string, DeploymentController>()
  const restarts = new RestartLimit(() => controllers.size)
  const changes = createNotifier()
  const context: ControllerContext = { cluster, changes, follower, render, restarts, queues, failAfterMs, log }
  const unsubscribe = cluster.onChange((deploymentId) => controllers.get(deploymentId)?.onObjectChange())

  const namespaceOf = ({ deployment }: LeasedClaim) => deployment.k8sNamespace ?? options.namespace

  /** Null: the deployment has no namespace. */
  function find(claim: LeasedClaim): DeploymentController | null {
    const namespace = namespaceOf(claim)
    if (namespace === null) return null
    const { id } = claim.deployment
    const before = controllers.get(id)
    if (before?.token === claim.token) return before
    void before?.stop()
    const controller = new DeploymentController(context, claim, namespace)
    controllers.set(id, controller)
    return controller
  }

  function controllerOf(claim: LeasedClaim): DeploymentController {
    const controller = find(claim)
    if (controller) return controller
    throw new StepFailure(
      'CONFIG_INVALID',
      'The deployment names no Kubernetes namespace, and there is no default one: set listener_config.k8s_namespace.',
    )
  }

  async function drop(deploymentId: string): Promise<void> {
    const controller = controllers.get(deploymentId)
    controllers.delete(deploymentId)
    await controller?.stop()
  }

  return {
    provision: (claim, step, signal, onProgress = noProgress) =>
      calls.run(step.id, async () => controllerOf(claim).provision(step, signal, onProgress)),
    async build(claim, step, revisionLog, signal, onCommit, onProgress, onPlan) {
      if (!images) throw new StepFailure('NO_BUILDER', NO_BUILDER)
      return calls.run(step.id, () => images.build(claim, step, revisionLog, signal, onCommit, onProgress, onPlan))
    },
    deploy: (claim, step, revisionLog, signal, onProgress = noProgress) =>
      calls.run(
        step.id,
        async () => controllerOf(claim).deploy(step, revisionLog, signal, onProgress),
        (candidate) => candidate.discard(),
      ),
    teardown: (claim, step, signal) =>
      // without a namespace no object exists
      calls.run(step.id, async () => {
        await find(claim)?.teardown(step, volumePolicy, signal)
        await images?.remove(claim.deployment.id)
      }),
    // only builds have processes; requests have timeouts, and writes need the lease
    async destroy(stepId) {
      await images?.destroy(stepId)
      calls.abandon(stepId)
    },
    ensure: (claim, run, revisionLog) => find(claim)?.ensure(run, revisionLog),
    // images built elsewhere are never removed
    prune: async (deploymentId, keepArtifacts) => images?.prune(deploymentId, keepArtifacts),
    drop,
    health: (deploymentId) => controllers.get(deploymentId)?.health,
    measure() {
      const held = [...controllers].map(([deploymentId, { namespace, restarts, queue }]) => ({
        ...{ deploymentId, namespace, restarts, queue },
        backlog: queues.backlog(deploymentId),
      }))
      // in the background: a database that does not answer delays no metrics
      void queues.look(held.flatMap(({ deploymentId, queue }) => (queue ? [{ deploymentId, ...queue }] : [])))
      return measure(held)
    },
    restarts: (deploymentId) => controllers.get(deploymentId)?.restarts ?? [],
    url: (deploymentId) => controllers.get(deploymentId)?.url,
    // the lease of a dead holder expires; nothing of it runs on this machine
    registerHolder: async () => async () => undefined,
    releaseDeadHolders: async () => undefined,
    async close() {
      unsubscribe()
      await Promise.all([...controllers.keys()].map((id) => drop(id)))
      follower.close()
      images?.close()
    },
  }
}

const noProgress: OnProgress = () => undefined
