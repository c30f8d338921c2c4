/**
 * What a request to the API server needs besides its path: the address, headers that say who we are, and an
 * agent with the right certificates. All of it comes from the kubeconfig, or from the pod's service account.
 *
 * The client's own calls make a new Agent for each request (kubernetes-client/javascript#2893): no connection is
 * ever used twice, and those of watches leak. Here one agent is kept for as long as its certificates stay the same.
 */
import type { Agent, OutgoingHttpHeaders } from 'node:http'
import type { RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'

export interface Access {
  /** of the API server, without a slash at its end; may have a path */
  server: string
  headers: OutgoingHttpHeaders
  agent: Agent
}

/** tokens in files are changed by the kubelet well before they expire, programs that give tokens cache them */
const FRESH_MS = 30_000

export class Credentials {
  readonly #config: KubeConfig
  #access: Access | null = null
  #certificates = ''
  #until = 0
  #refreshing: Promise<Access> | null = null

  /** Throws when there is no kubeconfig, or it names no cluster. */
  constructor(file: string | undefined) {
    this.#config = new KubeConfig()
    if (file === undefined) this.#config.loadFromDefault()
    else this.#config.loadFromFile(file)
    const cluster = this.#config.getCurrentCluster()
    // what the client falls back to when it finds nothing at all
    const guessed = this.#config.currentContext === 'loaded-context' && cluster?.server === 'http://localhost:8080'
    if (!cluster || guessed) throw new Error('There is no kubeconfig with a current context, and no service account')
    // the client wants this said for plain HTTP; to this machine (`kubectl proxy`) there is nothing to verify
    const local = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(`${cluster.server}/`)
    if (local) Object.assign(cluster, { skipTLSVerify: true })
  }

  /** Rejects when a program or file that gives the token fails. */
  async get(): Promise<Access> {
    if (this.#access && performance.now() < this.#until) return this.#access
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null
    })
    return await this.#refreshing
  }

  /** The API server does not know us any more: the token was changed early. */
  expire(): void {
    this.#until = 0
  }

  close(): void {
    this.#access?.agent.destroy()
  }

  async #refresh(): Promise<Access> {
    const options: RequestOptions = { headers: {} }
    await this.#config.applyToHTTPSOptions(options)
    const headers: OutgoingHttpHeaders = {}
    for (const [name, value] of Object.entries(options.headers as OutgoingHttpHeaders)) {
      // a token's file may end with a newline
      headers[name] = typeof value === 'string' ? value.trim() : value
    }
    if (options.auth) headers.Authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`
    const { ca, cert, key, servername, rejectUnauthorized } = options
    const certificates = JSON.stringify([String(ca), String(cert), String(key), servername, rejectUnauthorized])
    const agent =
      this.#access && certificates === this.#certificates
        ? this.#access.agent
        : this.#replaceAgent(options.agent as Agent)
    const server = this.#config.getCurrentCluster()!.server.replace(/\/+$/, '')
    this.#certificates = certificates
    this.#access = { server, headers, agent }
    this.#until = performance.now() + FRESH_MS
    return this.#access
  }

  #replaceAgent(agent: Agent): Agent {
    Object.assign(agent, { keepAlive: true })
    const old = this.#access?.agent
    if (old) {
      // what is under way on it may end; what is idle goes now
      old.maxFreeSockets = 0
      for (const socket of Object.values(old.freeSockets).flat()) socket?.destroy()
    }
    return agent
  }
}
