/** Selects the container logs of a revision's deploy log and formats their lines. */
import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import type { RenderedLine } from '../../output/lines.ts'
import { shiftStyles } from '../../output/styles.ts'
import type { RevisionLog } from '../../runtimes/runtime.ts'
import { type RevisionAttempt, revisionAttemptOf, sameAttempt } from '../objects/labels.ts'
import { AGENT_CONTAINER } from '../objects/names.ts'
import type { LogSource } from './log-follower.ts'

export interface Followed {
  attempt: RevisionAttempt
  log: RevisionLog
  /** renders a line of the run `key`; a secret or a colour may continue in the next line */
  show: (key: string, raw: string) => RenderedLine
}

/**
 * Agent containers and failed init containers. Of pods from before `claimedAt` only later lines: the previous lease
 * holder has sent the others.
 */
export function logSourcesOf(pods: readonly V1Pod[], revisions: readonly Followed[], claimedAt: Date): LogSource[] {
  return revisions.flatMap(({ attempt, log, show }) => {
    const ownPods = pods.filter((pod) => sameAttempt(revisionAttemptOf(pod), attempt))
    return ownPods.flatMap((pod) =>
      sourcesOfPod(pod, claimedAt, (line, key) => {
        const { text, styles } = show(key, line)
        const from = `[${shortName(pod)}] `
        log.print('deploy', from + text, shiftStyles(styles, from.length))
      }),
    )
  })
}

function sourcesOfPod(pod: V1Pod, claimedAt: Date, onLine: (line: string, key: string) => void): LogSource[] {
  const failed = (pod.status?.initContainerStatuses ?? []).filter(
    ({ state, lastState }) => failedEnd(state) || failedEnd(lastState),
  )
  const agents = (pod.status?.containerStatuses ?? []).filter(({ name }) => name === AGENT_CONTAINER)
  return [...failed, ...agents].flatMap((container) => sourceOf(pod, container, claimedAt, onLine) ?? [])
}

function sourceOf(
  pod: V1Pod,
  container: V1ContainerStatus,
  claimedAt: Date,
  onLine: (line: string, key: string) => void,
): LogSource | null {
  const { name, restartCount, state, lastState } = container
  const started = state?.running?.startedAt ?? state?.terminated?.startedAt ?? lastState?.terminated?.startedAt
  if (!state?.running && !state?.terminated && !lastState?.terminated) return null
  const { uid, name: podName = '', namespace = '', creationTimestamp } = pod.metadata ?? {}
  const key = `${uid}/${name}/${restartCount}`
  return {
    key,
    namespace,
    pod: podName,
    container: name,
    running: Boolean(state?.running),
    previous: Boolean(state?.waiting),
    createdAt: new Date(creationTimestamp ?? 0).getTime(),
    ...(started && new Date(started) < claimedAt ? { since: claimedAt } : {}),
    onLine: (line) => onLine(line, key),
  }
}

function failedEnd(state: V1ContainerStatus['state']): boolean {
  return state?.terminated !== undefined && state.terminated.exitCode !== 0
}

/** Pod name without the deployment's id, which all pods share. */
function shortName({ metadata }: V1Pod): string {
  return metadata?.name?.replace(/^ph-[0-9a-f-]{36}-/, '') ?? ''
}
