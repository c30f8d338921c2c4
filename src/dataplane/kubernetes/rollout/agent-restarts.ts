/** Finds restarts of the agent's containers, and its evicted pods, in the statuses of its pods, for the control plane. */
import { constants } from 'node:os'
import type { V1ContainerStateTerminated, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import type { AgentRestart, Reason } from '../../../domain/protocol/protocol.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { componentOf, revisionAttemptOf } from '../objects/labels.ts'
import { AGENT_CONTAINER } from '../objects/names.ts'
import { describeEnd } from './pod-problems.ts'

const MAX_RECENT = 50
/** of a container that the kubelet may have ended: by itself at SIGTERM, or killed by SIGKILL or SIGTERM */
const EXIT_CODES_OF_PROBES = [0, 137, 143]
/** the shell's convention for a command that a signal ended */
const SIGNAL_EXIT_CODE = 128
const MAX_MESSAGE_CHARACTERS = 1000
/** count of an evicted pod: the ends of its containers are no restarts */
const EVICTED = Number.POSITIVE_INFINITY

export class AgentRestarts {
  readonly #cluster: Cluster
  /** restarts by the uid of the pod */
  #known = new Map<string, number>()
  #recent: AgentRestart[] = []

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** The newest ones, oldest first. Ids are the same for each holder. */
  get recent(): readonly AgentRestart[] {
    return this.#recent
  }

  observe(pods: readonly V1Pod[]): void {
    const known = new Map<string, number>()
    for (const pod of pods) {
      const uid = pod.metadata?.uid ?? ''
      const component = componentOf(pod)
      if (component !== 'server' && component !== 'queue') continue
      const eviction = evictionOf(pod)
      if (eviction) {
        if (this.#known.get(uid) !== EVICTED) this.#addEviction(pod, eviction)
        known.set(uid, EVICTED)
        continue
      }
      const status = pod.status?.containerStatuses?.find(({ name }) => name === AGENT_CONTAINER)
      if (!status) continue
      const { restartCount: count, lastState } = status
      // of earlier restarts only the last is visible
      const before = this.#known.get(uid) ?? Math.max(0, count - 1)
      const isVisible = count <= before || lastState?.terminated
      known.set(uid, isVisible ? count : before)
      if (isVisible) for (let n = before + 1; n <= count; n++) void this.#addRestart(pod, status, `${uid}/${n}`)
    }
    this.#known = known
  }

  #addEviction(pod: V1Pod, { at, message }: Eviction): void {
    const revisionId = revisionAttemptOf(pod)?.revisionId
    if (!revisionId) return
    const { uid, name } = pod.metadata!
    this.#add({
      ...{ id: `${uid}/evicted`, revisionId, signal: null, exitCode: null, reason: 'EVICTED' },
      at: new Date(at ?? Date.now()).toISOString(),
      message: `Pod ${name} was evicted: ${message}`,
    })
  }

  #add(restart: AgentRestart): void {
    const message = restart.message.slice(0, MAX_MESSAGE_CHARACTERS)
    this.#recent = [...this.#recent, { ...restart, message }].slice(-MAX_RECENT)
  }

  async #addRestart(pod: V1Pod, status: V1ContainerStatus, id: string): Promise<void> {
    const revisionId = revisionAttemptOf(pod)?.revisionId
    const end = status.lastState?.terminated
    if (!revisionId || !end) return
    const { exitCode, finishedAt } = end
    const signal = signalOf(end)
    const subject = `The agent in pod ${pod.metadata?.name}`
    this.#add({
      ...{ id, revisionId, signal, exitCode: signal === null ? exitCode : null },
      at: new Date(finishedAt ?? Date.now()).toISOString(),
      reason: await this.#reasonOf(pod, end),
      message: `${subject} ${describeEnd({ ...status, state: {} })}`,
    })
  }

  /** The status does not tell that a probe ended the container, only an event does. */
  async #reasonOf({ metadata }: V1Pod, { reason, exitCode }: V1ContainerStateTerminated): Promise<Reason> {
    if (reason === 'OOMKilled') return 'OUT_OF_MEMORY'
    if (!EXIT_CODES_OF_PROBES.includes(exitCode)) return 'CRASHED'
    const { namespace = '', uid = '' } = metadata ?? {}
    const lines = await this.#cluster.warnings(namespace, uid).catch(() => [])
    const [newest] = lines.filter((line) => !line.startsWith('BackOff'))
    return newest?.startsWith('Unhealthy: Liveness probe failed') ? 'HEALTH_CHECK_TIMED_OUT' : 'CRASHED'
  }
}

interface Eviction {
  at?: Date | undefined
  message: string
}

/** Undefined: the cluster has not decided to end the pod. Before Kubernetes 1.26 only nodes say so. */
function evictionOf({ status }: V1Pod): Eviction | undefined {
  const found = status?.conditions?.find((one) => one.type === 'DisruptionTarget' && one.status === 'True')
  if (found) return { at: found.lastTransitionTime, message: found.message || (found.reason ?? '') }
  return status?.reason === 'Evicted' ? { message: status.message ?? '' } : undefined
}

function signalOf({ signal, exitCode }: V1ContainerStateTerminated): string | null {
  const number = signal || (exitCode > SIGNAL_EXIT_CODE ? exitCode - SIGNAL_EXIT_CODE : 0)
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? null
}
