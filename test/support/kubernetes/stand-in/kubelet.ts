/** The kubelets of all nodes: run scheduled pods, with pulls, crashes and restarts, and end deleted pods. */
import type { Context } from './context.ts'
import { POD } from './controllers/pods.ts'
import { type Json, type KubeObject, timestamp, withCondition } from './objects.ts'

/** Returns a function that lets the `slow` containers of a pod become ready. */
export function startKubelet(context: Context): (pod: KubeObject) => void {
  const { store, api, delays } = context
  const runs = new Map<string, PodRun>()
  /** uids; a test may release a pod before it runs */
  const released = new Set<string>()
  let addresses = 0

  const begin = (pod: KubeObject): void => {
    const live = store.get(POD, pod.metadata.namespace, pod.metadata.name)
    if (live?.metadata.uid !== pod.metadata.uid || live.metadata.deletionTimestamp) return
    const n = ++addresses
    const run = new PodRun(context, live, `10.244.${(n >> 8) % 256}.${n % 256}`)
    runs.set(pod.metadata.uid, run)
    if (released.has(pod.metadata.uid)) run.release()
  }
  const end = ({ metadata }: KubeObject): void => {
    const { namespace, name, uid, deletionGracePeriodSeconds = 0 } = metadata
    context.after(Math.min(delays.terminate, deletionGracePeriodSeconds * 1000), () => {
      if (store.get(POD, namespace, name)?.metadata.uid === uid)
        api.delete(POD, namespace, name, { gracePeriodSeconds: 0 })
    })
  }
  store.onChange(({ kind, type, object, before }) => {
    if (kind !== POD) return
    const { uid, deletionTimestamp } = object.metadata
    if (type === 'DELETED') {
      runs.get(uid)?.stop()
      runs.delete(uid)
    } else if (deletionTimestamp) {
      if (!before?.metadata.deletionTimestamp) end(object)
    } else if (object.spec.nodeName && !before?.spec.nodeName) {
      context.after(delays.controller, () => begin(object))
    }
  })
  return ({ metadata: { uid } }) => {
    released.add(uid)
    runs.get(uid)?.release()
  }
}

interface Container {
  spec: Json
  /** `{ waiting }`, `{ running }` or `{ terminated }` */
  state: Json
  lastState: Json
  ready: boolean
  restarts: number
}

const tagOf = (image: string): string => /:([^/:@]+)(@|$)/.exec(image)?.[1] ?? ''

/** One pod on its node. Image tags select the behaviour of its containers: see README.md. */
class PodRun {
  readonly #context: Context
  readonly #pod: KubeObject
  readonly #containers: Container[]
  readonly #address: string
  #released = false
  #stopped = false

  constructor(context: Context, pod: KubeObject, address: string) {
    this.#context = context
    this.#pod = pod
    this.#address = address
    this.#containers = pod.spec.containers.map((spec: Json): Container => {
      const state = { waiting: { reason: 'ContainerCreating' } }
      return { spec, state, lastState: {}, ready: false, restarts: 0 }
    })
    this.#publish()
    for (const container of this.#containers) this.#pull(container)
  }

  release(): void {
    this.#released = true
    for (const container of this.#containers) if (container.state.running) this.#ready(container)
  }

  /** Stops all timers of the pod. */
  stop(): void {
    this.#stopped = true
    for (const { spec } of this.#containers) this.#context.logs.end(this.#pod.metadata.uid, spec.name)
  }

  #after(ms: number, run: () => void): void {
    this.#context.after(ms, () => {
      if (!this.#stopped) run()
    })
  }

  #publish(): void {
    const { store, api } = this.#context
    const { namespace, name } = this.#pod.metadata
    const isReady = this.#containers.every(({ ready }) => ready)
    const conditions: Json[] = store.get(POD, namespace, name)?.status?.conditions
    const isPending = this.#containers.some(({ state, lastState }) => state.waiting && !lastState.terminated)
    api.setStatus(POD, this.#pod, {
      phase: isPending ? 'Pending' : 'Running',
      conditions: withCondition(conditions, { type: 'Ready', status: isReady ? 'True' : 'False' }),
      ...(this.#containers.some(({ state }) => state.running) ? { podIP: this.#address } : {}),
      containerStatuses: this.#containers.map(({ spec, state, lastState, ready, restarts }) => ({
        ...{ name: spec.name, image: spec.image, imageID: '', restartCount: restarts },
        ...{ state, lastState, ready, started: state.running !== undefined },
      })),
    })
  }

  #wait(container: Container, reason: string, message: string): void {
    container.state = { waiting: { reason, message } }
    this.#publish()
  }

  #pull(container: Container, attempt = 0): void {
    const { image } = container.spec
    const { warn, delays } = this.#context
    this.#after(delays.pull, () => {
      if (!tagOf(image).startsWith('bad')) return this.#run(container)
      const message = `rpc error: code = NotFound desc = failed to resolve reference "${image}": ${image}: not found`
      warn(this.#pod, 'Failed', `Failed to pull image "${image}": ${message}`)
      this.#wait(container, 'ErrImagePull', message)
      this.#after(delays.retry, () => {
        this.#wait(container, 'ImagePullBackOff', `Back-off pulling image "${image}"`)
        this.#after(delays.backOff * 2 ** Math.min(attempt, 5), () => this.#pull(container, attempt + 1))
      })
    })
  }

  #run(container: Container): void {
    const { logs, delays } = this.#context
    const { name, image } = container.spec
    const { uid } = this.#pod.metadata
    container.state = { running: { startedAt: timestamp() } }
    logs.start(uid, name)
    logs.print(uid, name, `${name}: starting ${image}`)
    this.#publish()
    if (tagOf(image).startsWith('crash'))
      this.#after(delays.crash, () => {
        logs.print(uid, name, `${name}: it crashed, as ${image} does`)
        this.#crashed(container)
      })
    else
      this.#after(delays.ready, () => {
        if (!tagOf(image).startsWith('slow') || this.#released) this.#ready(container)
      })
  }

  #ready(container: Container): void {
    if (container.ready) return
    const { name } = container.spec
    this.#context.logs.print(this.#pod.metadata.uid, name, `${name}: listening`)
    container.ready = true
    this.#publish()
  }

  /** The first restart is immediate. Later ones have a growing back-off. */
  #crashed(container: Container): void {
    const { logs, delays } = this.#context
    const { name } = container.spec
    const { startedAt } = container.state.running
    const terminated = { exitCode: 1, reason: 'Error', startedAt, finishedAt: timestamp() }
    container.state = { terminated }
    logs.end(this.#pod.metadata.uid, name)
    this.#publish()
    this.#after(delays.controller, () => {
      container.lastState = { terminated }
      const again = (): void => {
        container.restarts++
        this.#run(container)
      }
      if (container.restarts === 0) return again()
      this.#wait(container, 'CrashLoopBackOff', `back-off restarting failed container=${name}`)
      this.#after(delays.backOff * 2 ** Math.min(container.restarts - 1, 5), again)
    })
  }
}
