/** Runs one pod on its node: volumes, init containers in order, then the containers, with pulls and restarts. */
import type { Context } from '../context.ts'
import { POD } from '../controllers/pods.ts'
import { type Json, type KubeObject, timestamp } from '../objects.ts'
import { missingForContainer, missingForVolumes } from './needs.ts'
import { type Container, isPast, podStatus } from './pod-status.ts'

const BY = { manager: 'kubelet', subresource: 'status' }

const tagOf = (image: string): string => /:([^/:@]+)(@|$)/.exec(image)?.[1] ?? ''

export class PodRun {
  readonly #context: Context
  readonly #pod: KubeObject
  readonly #containers: Container[]
  readonly #address: string
  readonly #startTime = timestamp()
  #released = false
  #stopped = false
  /** retries containers that wait for a Secret or ConfigMap */
  #blocked = new Map<string, () => void>()

  constructor(context: Context, pod: KubeObject, address: string) {
    this.#context = context
    this.#pod = pod
    this.#address = address
    const container = (spec: Json, init: Container['init'], reason: string): Container => {
      const state = { waiting: { reason } }
      return { spec, init, state, lastState: {}, ready: false, restarts: 0, pulled: false }
    }
    const inits: Json[] = pod.spec.initContainers ?? []
    const reason = inits.length > 0 ? 'PodInitializing' : 'ContainerCreating'
    this.#containers = [
      ...inits.map((spec) => container(spec, spec.restartPolicy === 'Always' ? 'sidecar' : 'step', reason)),
      ...pod.spec.containers.map((spec: Json) => container(spec, undefined, reason)),
    ]
    this.#publish()
    this.#mount()
  }

  /** A Secret or ConfigMap of the namespace changed. */
  look(): void {
    const blocked = [...this.#blocked.values()]
    this.#blocked.clear()
    for (const again of blocked) again()
  }

  release(): void {
    this.#released = true
    for (const container of this.#containers) if (container.state.running && !container.ready) this.#ready(container)
    this.#publish()
  }

  setReady(ready: boolean): void {
    for (const container of this.#containers) if (container.state.running) container.ready = ready
    this.#publish()
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
    if (this.#stopped) return
    const change = (copy: KubeObject) => {
      copy.status = podStatus(copy, this.#containers, this.#startTime, this.#address)
    }
    this.#context.api.modify(POD, this.#pod, change, BY)
  }

  #event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#context.event(this.#pod, type, reason, message, 'kubelet')
  }

  #mount(): void {
    const why = missingForVolumes(this.#context, this.#pod)
    if (why) {
      this.#event('Warning', 'FailedMount', why)
      this.#blocked.set('', () => this.#mount())
    } else this.#next()
  }

  /** Starts the first unfinished init container, or else all other containers. */
  #next(): void {
    const step = this.#containers.find((c) => c.init && !isPast(c))
    const due = step ? [step] : this.#containers.filter((c) => !c.init)
    for (const container of due) this.#pull(container)
  }

  #wait(container: Container, reason: string, message?: string): void {
    container.state = { waiting: { reason, ...(message ? { message } : {}) } }
    container.ready = false
    this.#publish()
  }

  #pull(container: Container, attempt = 0): void {
    const { image } = container.spec
    this.#event('Normal', 'Pulling', `Pulling image "${image}"`)
    this.#after(this.#context.delays.pull, () => {
      if (!tagOf(image).startsWith('bad')) {
        container.pulled = true
        this.#event('Normal', 'Pulled', `Successfully pulled image "${image}"`)
        this.#create(container)
        return
      }
      const name = image.split('/').length > 2 ? image : `docker.io/${image.includes('/') ? image : `library/${image}`}`
      const why = `failed to pull and unpack image "${name}": failed to resolve reference "${name}": ${name}: not found`
      const message = `rpc error: code = NotFound desc = ${why}`
      this.#event('Warning', 'Failed', `Failed to pull image "${image}": ${message}`)
      this.#event('Warning', 'Failed', 'Error: ErrImagePull')
      this.#wait(container, 'ErrImagePull', message)
      this.#after(this.#context.delays.retry, () => {
        this.#event('Normal', 'BackOff', `Back-off pulling image "${image}"`)
        this.#event('Warning', 'Failed', 'Error: ImagePullBackOff')
        this.#wait(container, 'ImagePullBackOff', `Back-off pulling image "${image}"`)
        this.#after(this.#context.delays.backOff * 2 ** Math.min(attempt, 5), () => this.#pull(container, attempt + 1))
      })
    })
  }

  #create(container: Container): void {
    const why = missingForContainer(this.#context, this.#pod, container.spec)
    if (why) {
      this.#event('Warning', 'Failed', `Error: ${why}`)
      this.#wait(container, 'CreateContainerConfigError', why)
      this.#blocked.set(container.spec.name, () => this.#create(container))
    } else this.#run(container)
  }

  #run(container: Container): void {
    const { logs, delays } = this.#context
    const { name, image } = container.spec
    const { uid } = this.#pod.metadata
    const tag = tagOf(image)
    this.#event('Normal', 'Created', `Created container ${name}`)
    this.#event('Normal', 'Started', `Started container ${name}`)
    container.state = { running: { startedAt: timestamp() } }
    logs.start(uid, name, container.restarts > 0)
    logs.print(uid, name, `${name}: starting ${image}`)
    this.#publish()
    if (tag.startsWith('crash')) {
      this.#after(delays.crash, () => {
        logs.print(uid, name, `${name}: it crashed, as ${image} does`)
        this.#ended(container, 1)
      })
    } else if (container.init === 'step') {
      this.#after(delays.init, () => this.#ended(container, 0))
    } else {
      this.#after(delays.ready, () => {
        if (tag.startsWith('slow') && !this.#released) return
        this.#ready(container)
        this.#publish()
      })
      if (container.init) this.#next()
    }
  }

  #ready(container: Container): void {
    this.#context.logs.print(this.#pod.metadata.uid, container.spec.name, `${container.spec.name}: listening`)
    container.ready = true
  }

  #ended(container: Container, exitCode: number): void {
    const { logs } = this.#context
    const { name, terminationMessagePolicy } = container.spec
    const { uid } = this.#pod.metadata
    const { startedAt } = container.state.running
    // the policy File takes the message from a file, and these programs write none
    const words = exitCode !== 0 && terminationMessagePolicy === 'FallbackToLogsOnError'
    const terminated = {
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      ...(words ? { message: logs.tail(uid, name) } : {}),
      startedAt,
      finishedAt: timestamp(),
    }
    container.ready = false
    container.state = { terminated }
    logs.end(uid, name)
    this.#publish()
    if (container.init === 'step' && exitCode === 0) {
      this.#next()
      return
    }
    const policy: string = container.init === 'sidecar' ? 'Always' : this.#pod.spec.restartPolicy
    if (policy === 'Never' || (policy === 'OnFailure' && exitCode === 0)) return
    this.#restart(container, terminated)
  }

  /** The first restart is immediate. Later ones have a growing back-off. */
  #restart(container: Container, terminated: Json): void {
    const { delays } = this.#context
    const { namespace, name, uid } = this.#pod.metadata
    const again = (): void => {
      container.lastState = { terminated }
      container.restarts++
      this.#create(container)
    }
    if (container.restarts === 0) {
      this.#after(delays.controller, again)
      return
    }
    const n = Math.min(container.restarts - 1, 5)
    const seconds = Math.min(10 * 2 ** n, 300)
    const text = seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
    const pod = `${name}_${namespace}(${uid})`
    this.#after(delays.controller, () => {
      container.lastState = { terminated }
      this.#event('Warning', 'BackOff', `Back-off restarting failed container ${container.spec.name} in pod ${pod}`)
      this.#wait(
        container,
        'CrashLoopBackOff',
        `back-off ${text} restarting failed container=${container.spec.name} pod=${pod}`,
      )
      this.#after(delays.backOff * 2 ** n, again)
    })
  }
}
