/** The status of a pod as its kubelet writes it: phase, conditions and the state of each container. */
import { createHash } from 'node:crypto'
import { type Json, type KubeObject, withCondition } from '../objects.ts'

/** The state of one container. */
export interface Container {
  spec: Json
  /** undefined for a regular container */
  init: 'step' | 'sidecar' | undefined
  /** `{ waiting }`, `{ running }` or `{ terminated }` */
  state: Json
  lastState: Json
  ready: boolean
  restarts: number
  /** the container's image is pulled */
  pulled: boolean
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

function containerStatus({ spec, init, state, lastState, ready, restarts, pulled }: Container, uid: string): Json {
  const ran = state.running ?? state.terminated ?? lastState.terminated
  return {
    name: spec.name,
    state,
    lastState,
    ready: init === 'step' ? state.terminated?.exitCode === 0 : ready,
    restartCount: restarts,
    image: spec.image,
    imageID: pulled ? `${spec.image.split(/[:@]/)[0]}@sha256:${digest(spec.image)}` : '',
    ...(ran ? { containerID: `containerd://${digest(`${uid}/${spec.name}/${restarts}`)}` } : {}),
    started: state.running !== undefined,
  }
}

function phaseOf({ spec }: KubeObject, containers: Container[]): string {
  const initialized = containers.filter((c) => c.init).every(isPast)
  const own = containers.filter((c) => !c.init)
  const unstarted = own.some((c) => c.state.waiting && !c.lastState.terminated)
  if (!initialized || unstarted) {
    const failed = spec.restartPolicy === 'Never' && containers.some((c) => c.init && c.state.terminated?.exitCode > 0)
    return failed ? 'Failed' : 'Pending'
  }
  const ended = own.every((c) => c.state.terminated)
  if (!ended || spec.restartPolicy === 'Always') return 'Running'
  const succeeded = own.every((c) => c.state.terminated.exitCode === 0)
  if (succeeded) return 'Succeeded'
  return spec.restartPolicy === 'Never' ? 'Failed' : 'Running'
}

/** True: this init container lets the next one start. */
export const isPast = ({ init, state }: Container): boolean =>
  init === 'sidecar' ? state.running !== undefined : state.terminated?.exitCode === 0

export function podStatus(pod: KubeObject, containers: Container[], startTime: string, address: string): Json {
  const unready = containers.filter((c) => c.init !== 'step' && !c.ready).map((c) => c.spec.name)
  const uninitialized = containers.filter((c) => c.init && !isPast(c)).map((c) => c.spec.name)
  const phase = phaseOf(pod, containers)
  const notReady =
    unready.length > 0
      ? {
          status: 'False',
          reason: 'ContainersNotReady',
          message: `containers with unready status: [${unready.join(' ')}]`,
        }
      : { status: 'True' }
  const initialized =
    uninitialized.length > 0
      ? {
          status: 'False',
          reason: 'ContainersNotInitialized',
          message: `containers with incomplete status: [${uninitialized.join(' ')}]`,
        }
      : { status: 'True' }
  let conditions: Json[] = pod.status?.conditions ?? []
  for (const [type, condition] of Object.entries({
    Initialized: initialized,
    Ready: notReady,
    ContainersReady: notReady,
  })) {
    conditions = withCondition(conditions, { type, lastProbeTime: null, ...condition })
  }
  const statusesOf = (list: Container[]): Json[] => list.map((c) => containerStatus(c, pod.metadata.uid))
  const init = containers.filter((c) => c.init)
  return {
    ...pod.status,
    phase,
    conditions,
    hostIP: '10.0.0.1',
    startTime,
    ...(containers.some((c) => c.state.running) ? { podIP: address, podIPs: [{ ip: address }] } : {}),
    ...(init.length > 0 ? { initContainerStatuses: statusesOf(init) } : {}),
    containerStatuses: statusesOf(containers.filter((c) => !c.init)).sort((a, b) => (a.name < b.name ? -1 : 1)),
    qosClass: qosOf(pod.spec),
  }
}

function qosOf(spec: Json): string {
  const all: Json[] = [...(spec.initContainers ?? []), ...spec.containers]
  const stated = all.some((c) => c.resources?.requests || c.resources?.limits)
  if (!stated) return 'BestEffort'
  const same = (c: Json, name: string) =>
    c.resources?.limits?.[name] && c.resources.limits[name] === c.resources.requests?.[name]
  return all.every((c) => same(c, 'cpu') && same(c, 'memory')) ? 'Guaranteed' : 'Burstable'
}
