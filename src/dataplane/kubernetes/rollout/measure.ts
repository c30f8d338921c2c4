/** Measures the deployments of a cluster for metrics: pods from the watch, CPU and memory from metrics.k8s.io where it is. */
import type { V1Pod } from '@kubernetes/client-node'
import type { AgentRestart } from '../../../domain/protocol/protocol.ts'
import { SAMPLE_SECONDS } from '../../../domain/values/metrics.ts'
import { RestartCounts } from '../../runtimes/restart-counts.ts'
import type { Measured } from '../../runtimes/runtime.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { componentOf, revisionAttemptOf } from '../objects/labels.ts'
import { AGENT_CONTAINER } from '../objects/names.ts'
import { bytesOf } from '../render/resources.ts'

interface Held {
  deploymentId: string
  namespace: string
  restarts: readonly AgentRestart[]
  /** its serving revision, and the waiting runs in its database; null: not known */
  queue: { revisionId: string } | null
  backlog: number | null
}

/** Cores and bytes of a pod's containers. */
interface PodUsage {
  cores: number
  memory: number
}

export function createMeasure(cluster: Cluster) {
  const restartCounts = new RestartCounts()
  return async (held: readonly Held[]): Promise<Measured[]> => {
    const namespaces = [...new Set(held.map(({ namespace }) => namespace))]
    const usages = new Map(
      await Promise.all(namespaces.map(async (one) => [one, await cluster.podUsage(one)] as const)),
    )
    const restarts = restartCounts.count(held.flatMap((one) => one.restarts))
    return held.flatMap(({ deploymentId, namespace, restarts: recent, queue, backlog }) => {
      const byRevision = new Map<string, V1Pod[]>(recent.map(({ revisionId }) => [revisionId, []]))
      for (const pod of cluster.pods(deploymentId)) {
        const revisionId = revisionAttemptOf(pod)?.revisionId
        const component = componentOf(pod)
        if (!revisionId || (component !== 'server' && component !== 'queue')) continue
        byRevision.set(revisionId, [...(byRevision.get(revisionId) ?? []), pod])
      }
      return [...byRevision].flatMap(([revisionId, pods]): Measured[] => {
        const restarted = restarts.get(revisionId) ?? 0
        if (pods.length === 0 && restarted === 0) return []
        const measures = {
          ...ofPods(pods, usages.get(namespace) ?? null),
          restarts: restarted,
          ...(backlog !== null && revisionId === queue?.revisionId && { queue_backlog: backlog }),
        }
        return [{ deploymentId, revisionId, latencies: [], measures }]
      })
    })
  }
}

function ofPods(pods: readonly V1Pod[], usages: ReadonlyMap<string, PodUsage> | null): Measured['measures'] {
  const found = pods.flatMap(({ metadata }) => usages?.get(metadata?.name ?? '') ?? [])
  const limit = sum(pods.map(memoryLimitOf))
  return {
    replicas: pods.filter(isReady).length,
    ...(limit > 0 && { memory_limit: limit }),
    ...(found.length > 0 && {
      cpu_seconds: sum(found.map(({ cores }) => cores)) * SAMPLE_SECONDS,
      memory: sum(found.map(({ memory }) => memory)),
    }),
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0)

const isReady = ({ status }: V1Pod) =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false

function memoryLimitOf({ spec }: V1Pod): number {
  const { limits } = spec?.containers.find(({ name }) => name === AGENT_CONTAINER)?.resources ?? {}
  return limits?.memory ? bytesOf(limits.memory) : 0
}
