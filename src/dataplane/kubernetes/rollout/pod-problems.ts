/** Finds problems of a pod in its status and describes them for users. Pure and without a clock (problem.ts). */
import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import type { Progress, Reason } from '../../../domain/protocol/protocol.ts'
import { isAboutVolume, isOnlyBackOff, withAdvice } from '../api-server/messages.ts'
import type { Problem } from './problem.ts'

/** ms for short disturbances: a registry error, or a Secret created just after its pod */
const SHORT_GRACE_MS = 5000
/** restarts that count as a crash loop, independent of the kubelet's state */
const CRASH_LOOP_RESTARTS = 2
/** reasons of waiting containers that are normal */
const NORMAL_WAITS = ['ContainerCreating', 'PodInitializing']

/** Problems of a pod that is not terminating. `unschedulableMs`: grace period for an unschedulable pod. */
export function podProblems(pod: V1Pod, unschedulableMs: number): Problem[] {
  const name = pod.metadata?.name ?? ''
  const uid = pod.metadata?.uid ?? name
  const found: Problem[] = []
  for (const { type, status, reason, message } of pod.status?.conditions ?? []) {
    if (type !== 'PodScheduled' || status !== 'False' || reason === 'SchedulingGated') continue
    const volume = isAboutVolume(message)
    found.push({
      key: `${uid}/schedule`,
      reason: volume ? 'STORAGE_UNAVAILABLE' : 'UNSCHEDULABLE',
      message: `No node can take pod ${name}: ${message ?? reason ?? 'no reason given'}`,
      // some storage is provisioned only when the pod exists, which takes time
      graceMs: volume ? 4 * unschedulableMs : unschedulableMs,
    })
  }
  for (const [statuses, kind] of [
    [pod.status?.initContainerStatuses, 'Init container'],
    [pod.status?.containerStatuses, 'Container'],
  ] as const)
    for (const container of statuses ?? []) {
      const image = container.image || imageOf(pod, container.name)
      const subject = `${kind} ${container.name} of pod ${name}`
      const problem = containerProblem({ ...container, image }, subject, unschedulableMs)
      if (!problem) continue
      const output = outputOf(pod, container)
      found.push({
        ...problem,
        key: `${uid}/${container.name}/${problem.key}`,
        ...((problem.key === 'crash' || problem.key === 'end') && output ? { output } : {}),
      })
    }
  return found
}

type Short = Omit<Problem, 'output'>
type Wait = Pick<Problem, 'reason' | 'key' | 'graceMs'> & {
  text: (subject: string, image: string, waitingFor: string) => string
}

const UNUSABLE: Wait = {
  key: 'image',
  reason: 'IMAGE_PULL_FAILED',
  graceMs: 0,
  text: (subject, image) => `${subject} has an image that can't be used, ${image}`,
}
const UNPULLED: Wait = {
  key: 'image',
  reason: 'IMAGE_PULL_FAILED',
  graceMs: SHORT_GRACE_MS,
  text: (subject, image) => `The image ${image} of ${subject[0]!.toLowerCase()}${subject.slice(1)} can't be pulled`,
}
const NOT_CREATED: Wait = {
  key: 'create',
  reason: 'CONTAINER_START_FAILED',
  graceMs: SHORT_GRACE_MS,
  text: (subject, _, waitingFor) => `${subject} can't be started (${waitingFor})`,
}

/** By the kubelet's reason of a waiting container. */
const WAITS: Record<string, Wait> = {
  InvalidImageName: UNUSABLE,
  ErrImageNeverPull: UNUSABLE,
  ErrImagePull: UNPULLED,
  RegistryUnavailable: UNPULLED,
  ImageInspectError: UNPULLED,
  SignatureValidationFailed: UNPULLED,
  ImagePullBackOff: { ...UNPULLED, graceMs: 0 },
  CreateContainerConfigError: NOT_CREATED,
  CreateContainerError: NOT_CREATED,
  RunContainerError: NOT_CREATED,
}

function containerProblem(container: V1ContainerStatus, subject: string, longMs: number): Short | null {
  const { ready, restartCount, state } = container
  const { reason = '', message = '' } = state?.waiting ?? {}
  const because = message ? `: ${message}` : ''
  const wait = WAITS[reason]
  if (wait) {
    const { text, ...problem } = wait
    const said = withAdvice(text(subject, container.image, reason) + because)
    return { ...problem, message: said, vague: isOnlyBackOff(message) }
  }
  // a finished init container is ready; a long-running one is not, and is no problem
  const crashes = !ready && restartCount >= CRASH_LOOP_RESTARTS && state?.terminated?.exitCode !== 0
  const ended = { reason: endReason(container), message: `it ${describeEnd(container)}` }
  if (reason === 'CrashLoopBackOff' || crashes)
    return { ...ended, key: 'crash', graceMs: 0, message: `${subject} keeps crashing: ${ended.message}` }
  // the kubelet restarts it immediately or reports a crash loop
  if (state?.terminated && state.terminated.exitCode !== 0)
    return { ...ended, key: 'end', graceMs: SHORT_GRACE_MS, message: `${subject} has ended: ${ended.message}` }
  if (!reason || NORMAL_WAITS.includes(reason)) return null
  const text = `${NOT_CREATED.text(subject, '', reason)}${because}`
  return { key: 'wait', reason: 'CONTAINER_START_FAILED', graceMs: longMs, message: text }
}

/** Failed pods (evicted, refused by the node, ended). Controllers replace pods, so one failed pod proves little. */
export function failedPods(component: string, pods: readonly V1Pod[], longMs: number): Problem[] {
  const failed = pods.filter(({ status }) => status?.phase === 'Failed')
  const newest = failed.reduce<V1Pod | null>((last, pod) => (last && madeAt(last) > madeAt(pod) ? last : pod), null)
  if (!newest) return []
  const name = newest.metadata?.name ?? ''
  const ended = newest.status?.containerStatuses?.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0)
  const why = ended ? `its container ${ended.name} ${describeEnd(ended)}` : podActivity(newest).message
  const output = ended && outputOf(newest, ended)
  return [
    {
      key: `${component}/failed`,
      reason: ended ? endReason(ended) : 'CRASHED',
      message: `Pods of ${component} fail. Pod ${name}: ${why}`,
      graceMs: failed.length >= CRASH_LOOP_RESTARTS ? SHORT_GRACE_MS : longMs,
      ...(output ? { output } : {}),
    },
  ]
}

const madeAt = ({ metadata }: V1Pod) => new Date(metadata?.creationTimestamp ?? 0).getTime()

function imageOf({ spec }: V1Pod, container: string): string {
  const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
  return all.find(({ name }) => name === container)?.image ?? 'without a name'
}

function endReason({ state, lastState }: V1ContainerStatus): Reason {
  const end = state?.terminated ?? lastState?.terminated
  return end?.reason === 'OOMKilled' ? 'OUT_OF_MEMORY' : 'CRASHED'
}

/** Like `exited with code 1 (Error)`, of its last end. */
export function describeEnd(container: V1ContainerStatus): string {
  const end = container.state?.terminated ?? container.lastState?.terminated
  if (!end) return `was restarted (${container.restartCount} times so far)`
  if (end.reason === 'OOMKilled') return 'was killed because it used more memory than its limit (OOMKilled)'
  const how = end.signal ? `was ended by signal ${end.signal}` : `exited with code ${end.exitCode}`
  const reason = end.reason && end.reason !== 'Error' && end.reason !== 'Completed' ? ` (${end.reason})` : ''
  const detail = end.message?.trim()
  return `${how}${reason}${detail ? `: ${detail}` : ''}`
}

/** Null: nothing has run yet. */
function outputOf(pod: V1Pod, container: V1ContainerStatus): Problem['output'] | null {
  const { state, lastState } = container
  if (!state?.terminated && !lastState?.terminated) return null
  const { namespace = '', name = '' } = pod.metadata ?? {}
  return { namespace, pod: name, container: container.name, previous: !state?.terminated, running: false }
}

/** Short description of an unready pod's activity. */
export function podActivity({ status }: V1Pod): Progress {
  if (status?.phase === 'Failed') {
    const why = [status.reason, status.message].filter(Boolean).join(': ')
    return { reason: 'CRASHED', message: `failed (${why || 'no reason given'})` }
  }
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled && scheduled.status !== 'True')
    return { reason: 'UNSCHEDULABLE', message: `has no node yet (${scheduled.reason ?? 'Pending'})` }
  for (const { name, state, ready } of [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
  ]) {
    if (ready || state?.terminated?.exitCode === 0) continue
    if (state?.waiting && state.waiting.reason !== 'PodInitializing')
      return {
        reason: state.waiting.reason === 'ContainerCreating' ? 'PULLING_IMAGE' : 'CONTAINER_START_FAILED',
        message: `container ${name} is waiting (${state.waiting.reason ?? 'no reason given'})`,
      }
    if (state?.running) return { reason: 'WAITING_FOR_HEALTH', message: `container ${name} runs, but is not ready` }
  }
  const phase = status?.phase?.toLowerCase()
  return { reason: 'ROLLING_OUT', message: `is ${phase ?? 'not seen by any node yet'}` }
}

export function isReady(pod: V1Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

/** True: the pod is neither terminating nor ended. Other pods will never serve again. */
export function isActive({ metadata, status }: V1Pod): boolean {
  return !metadata?.deletionTimestamp && status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
}
