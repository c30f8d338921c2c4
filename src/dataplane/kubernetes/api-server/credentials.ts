/**
 * Headers and connections with the right certificates for the API server. They are kept while certificates stay:
 * the client library opens one per request (kubernetes-client/javascript#2893), and its watches leak them.
 */
import type { OutgoingHttpHeaders } from 'node:http'
import type { RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import { HttpClient, type HttpClientOptions } from '../../../platform/http/client.ts'

export interface Access {
  basePath: string
  headers: Record<string, string>
  client: HttpClient
}

export type ConnectionOptions = Pick<HttpClientOptions, 'connectMs' | 'probeMs'>

/** ms; the kubelet replaces token files long before they expire, and token programs cache tokens */
const FRESH_MS = 30_000
/** the client library's name of the context that it makes of a pod's service account */
const IN_POD = 'inClusterContext'

export class Credentials {
  readonly #config: KubeConfig
  readonly #options: ConnectionOptions
  #access: Access | null = null
  #certificates = ''
  #until = 0
  #refreshing: Promise<Access> | null = null

  /** Throws without a kubeconfig, or when it names no cluster. */
  constructor(file: string | undefined, options: ConnectionOptions) {
    this.#options = options
    this.#config = new KubeConfig()
    if (file === undefined) this.#config.loadFromDefault()
    else this.#config.loadFromFile(file)
    const cluster = this.#config.getCurrentCluster()
    // the client library's fallback when it finds no configuration
    const guessed = this.#config.currentContext === 'loaded-context' && cluster?.server === 'http://localhost:8080'
    if (!cluster || guessed) throw new Error('There is no kubeconfig with a current context, and no service account')
    // the client requires this for plain HTTP; a local address (`kubectl proxy`) needs no verification
    const local = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(`${cluster.server}/`)
    if (local) Object.assign(cluster, { skipTLSVerify: true })
  }

  /** Namespace of this process's pod, if it uses the pod's service account; null: it may run outside of the cluster. */
  get podNamespace(): string | null {
    const { currentContext } = this.#config
    const inPod = currentContext === IN_POD ? this.#config.getContextObject(currentContext) : null
    return inPod?.namespace?.trim() || null
  }

  /** Rejects when the token's program or file fails. */
  async get(): Promise<Access> {
    if (this.#access && performance.now() < this.#until) return this.#access
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null
    })
    return await this.#refreshing
  }

  /** Forgets the token, because the API server rejected it: it was replaced early. */
  expire(): void {
    this.#until = 0
  }

  close(): void {
    this.#access?.client.destroy()
  }

  async #refresh(): Promise<Access> {
    const options: RequestOptions = { headers: {} }
    await this.#config.applyToHTTPSOptions(options)
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(options.headers as OutgoingHttpHeaders)) {
      // a token file may end with a newline
      headers[name] = String(value).trim()
    }
    if (options.auth) headers.Authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`
    const { server, proxyUrl } = this.#config.getCurrentCluster()!
    const { origin, pathname } = new URL(server)
    const tls = tlsOf(options)
    const certificates = JSON.stringify(Object.entries(tls).map(([name, value]) => [name, String(value)]))
    let client = this.#access?.client
    if (!client || certificates !== this.#certificates) {
      // running requests may end on the old connections
      client?.close()
      client = new HttpClient({ origin, tls, ...this.#options, ...(proxyUrl && { proxy: proxyUrl }) })
    }
    this.#certificates = certificates
    this.#access = { basePath: pathname.replace(/\/+$/, ''), headers, client }
    this.#until = performance.now() + FRESH_MS
    return this.#access
  }
}

/** Unset members use the defaults of node:tls. */
function tlsOf({ ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }: RequestOptions) {
  const all = { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
