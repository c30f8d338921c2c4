/** The door of a cluster: serves the deployments that a server names, and keeps the server's last news in its folder. See README.md. */
import type { Bounds, ClusterNews, Place, Upstream } from '../dataplane/process/door/messages.ts'
import type { AccessCopy, GuardedDeployment, GuardSettings } from '../domain/values/access-copy.ts'
import { agentHostsOf } from '../domain/values/agent-host.ts'
import { type AgentFigures, type DoorFigures, UNKNOWN_REVISION } from '../domain/values/door-figures.ts'
import type { AccessLog } from './access-log.ts'
import { CallerTokens, keyOfToken } from './caller-tokens.ts'
import { type FollowOptions, followNews } from './follow-news.ts'
import { Guard } from './guard.ts'
import { Listener, type Tenant } from './listener.ts'
import { AppProxy } from './proxy.ts'
import { AccessStore, CertificateStore } from './stores.ts'

/** Where a deployment's agent is reached. */
interface ServiceAddress {
  host: string
  port: number
}

export interface ClusterDoorOptions extends Pick<FollowOptions, 'url' | 'log'> {
  /** The server knows the door by it. */
  token: string
  /** keeps the news for the next start */
  folder: string
  /** where it listens */
  host: string
  port: number
  accessLog: AccessLog
  /** The door serves only deployments of these; empty: all that the server names. */
  listeners: readonly string[]
  /** pattern of the addresses; undefined: the server's */
  appsUrl: string | undefined
  /** The Service of a deployment. */
  serviceOf(deployment: { id: string; namespace: string }): ServiceAddress
}

export interface ClusterDoor {
  /** Why it can't serve; null: it can. */
  problem(): string | null
  figures(): DoorFigures
  /** Stops accepting connections, and resolves when the last one has ended. */
  close(): Promise<void>
}

/** It listens as soon as it knows the deployments, from a server or from the folder. */
export function startClusterDoor(options: ClusterDoorOptions): ClusterDoor {
  const { url, token, folder, log } = options
  const tokens = new CallerTokens(keyOfToken(token))
  const guard = new Guard(tokens)
  const store = new AccessStore<ClusterNews>(folder, {
    set: (...[copy, settings, heardAt]) => guard.set(ownOf(copy, options), addressesOf(settings, options), heardAt),
    confirm: () => guard.confirm(),
  })
  const routes = new ServiceRoutes(options, guard)
  const closing = new AbortController()
  let problem: string | null = 'no server has sent the deployments yet'
  if (store.kept) routes.apply(store.kept)

  const followed = followNews({
    ...{ url, token, log, signal: closing.signal, callerKey: tokens.jwk },
    known: () => store.kept?.hash ?? null,
    take(news) {
      const before = store.kept
      if (!store.take(news)) return false
      if (store.kept !== before) routes.apply(store.kept!)
      return true
    },
    onProblem: (text) => {
      problem = text
    },
  })
  return {
    problem() {
      if (routes.isClosing) return 'ending'
      return store.kept ? routes.problem : problem
    },
    figures() {
      const agents = Object.entries(routes.figures).map(([id, figures]): [string, AgentFigures] => {
        const workspace = guard.workspaceOf(id)
        return [id, { ...figures, ...(workspace !== undefined && { workspace }) }]
      })
      return { agents: Object.fromEntries(agents), droppedLogLines: options.accessLog.dropped }
    },
    async close() {
      await routes.close()
      closing.abort()
      await followed
    },
  }
}

/** Without deployments of other clusters: a server may have doors in several. */
function ownOf(copy: AccessCopy, { listeners }: Pick<ClusterDoorOptions, 'listeners'>): AccessCopy {
  const isServed = ({ listener }: GuardedDeployment) =>
    listeners.length === 0 || listener === undefined || (listener !== null && listeners.includes(listener))
  return { ...copy, deployments: copy.deployments.filter(isServed) }
}

/** Each cluster has its own addresses. */
function addressesOf(settings: GuardSettings, { appsUrl }: Pick<ClusterDoorOptions, 'appsUrl'>): GuardSettings {
  return appsUrl ? { ...settings, hosts: agentHostsOf(appsUrl), secure: appsUrl.startsWith('https:') } : settings
}

/** One port for all deployments, and their Services. */
class ServiceRoutes {
  isClosing = false
  readonly #options: ClusterDoorOptions
  readonly #listener: Listener
  /** by deployment */
  readonly #tenants = new Map<string, ServiceTenant>()
  #bounds: Bounds | undefined
  #opened = false
  /** code of the error that keeps the port closed; null: none */
  #portProblem: string | null = null

  constructor(options: ClusterDoorOptions, guard: Guard) {
    this.#options = options
    const { accessLog } = options
    this.#listener = new Listener(options, { guard, certificates: new CertificateStore(), accessLog })
    // the port stays open without deployments; no path has an empty name
    this.#listener.add(this.#tenantOf('', { name: '', hosts: [] }, null))
  }

  get problem(): string | null {
    return this.#portProblem && `port ${this.#options.port} can't be opened (${this.#portProblem})`
  }

  get figures(): DoorFigures['agents'] {
    return Object.fromEntries([...this.#tenants].flatMap(([id, { made }]) => (made ? [[id, made.figures.read()]] : [])))
  }

  apply({ copy, settings, bounds }: ClusterNews): void {
    const { hosts } = addressesOf(settings, this.#options)
    const routed = (copy ? ownOf(copy, this.#options).deployments : []).filter(
      (one): one is Routed => !!one.name && !!one.namespace,
    )
    const left = new Set(this.#tenants.keys())
    this.#bounds = bounds
    for (const deployment of routed) {
      left.delete(deployment.id)
      this.#route(deployment, hosts.replace('{name}', deployment.name))
    }
    for (const id of left) this.#remove(id)
    for (const { made } of this.#tenants.values()) made?.bounds.set(bounds)
    this.#listener.setTimeouts(bounds)
    if (!this.#opened) void this.#listener.open()
    this.#opened = true
  }

  async close(): Promise<void> {
    this.isClosing = true
    await this.#listener.handOver()
  }

  #route({ id, name, namespace }: Routed, host: string): void {
    const service = this.#options.serviceOf({ id, namespace })
    const known = this.#tenants.get(id)
    if (known?.place.hosts?.[0] === host && known.service?.host === service.host) return
    if (known) this.#listener.remove(known)
    const tenant = this.#tenantOf(id, { name, hosts: [host] }, service, known?.made)
    this.#tenants.set(id, tenant)
    this.#listener.add(tenant)
  }

  #tenantOf(
    deployment: string,
    at: Pick<Place, 'name' | 'hosts'>,
    service: ServiceAddress | null,
    made?: AppProxy | null,
  ): ServiceTenant {
    const { host, port } = this.#options
    const onListening: Tenant['onListening'] = (_, problem) => {
      this.#portProblem = problem
    }
    return new ServiceTenant(
      { deployment, place: { host, port, ...at }, onListening },
      service,
      () => this.#bounds,
      made,
    )
  }

  #remove(id: string): void {
    const tenant = this.#tenants.get(id)!
    this.#tenants.delete(id)
    this.#listener.remove(tenant)
    void tenant.made?.close()
  }
}

/** Its proxy is made at the first request: most deployments of a large cluster get none for long. */
class ServiceTenant implements Tenant {
  readonly deployment: string
  readonly place: Place
  readonly onListening: Tenant['onListening']
  readonly service: ServiceAddress | null
  readonly #bounds: () => Bounds | undefined
  #proxy: AppProxy | null

  /** `service`: null when there is none. `made`: of the same deployment with another Service or name. */
  constructor(
    { deployment, place, onListening }: Omit<Tenant, 'proxy'>,
    service: ServiceAddress | null,
    bounds: () => Bounds | undefined,
    made: AppProxy | null = null,
  ) {
    this.deployment = deployment
    this.place = place
    this.onListening = onListening
    this.service = service
    this.#bounds = bounds
    this.#proxy = made
    made?.setUpstream(this.#upstream)
  }

  /** Null: it got no request yet. */
  get made(): AppProxy | null {
    return this.#proxy
  }

  get proxy(): AppProxy {
    if (this.#proxy) return this.#proxy
    this.#proxy = new AppProxy()
    this.#proxy.figures.setRevision(UNKNOWN_REVISION)
    this.#proxy.setUpstream(this.#upstream)
    this.#proxy.bounds.set(this.#bounds())
    return this.#proxy
  }

  get #upstream(): Upstream | null {
    return this.service && { id: `${this.service.host}:${this.service.port}`, ...this.service }
  }
}

type Routed = GuardedDeployment & { name: string; namespace: string }
