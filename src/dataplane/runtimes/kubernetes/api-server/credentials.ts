/**
 * What a request to the API server needs besides its path: headers that say who we are, and connections with the right
 * certificates. All of it comes from the kubeconfig, or from the pod's service account.
 *
 * The client's own calls open a connection for each request (kubernetes-client/javascript#2893), and those of watches
 * leak. Here connections are kept for as long as the certificates stay the same.
 */
import type { OutgoingHttpHeaders } from 'node:http'
import type { RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import { HttpClient, type HttpClientOptions } from '../../../../platform/http/client.ts'

export interface Access {
  /** of the API server: what every path is below, without a slash at its end */
  basePath: string
  headers: Record<string, string>
  client: HttpClient
}

/** How connections are made; which certificates they need stands in the kubeconfig. */
export type ConnectionOptions = Pick<HttpClientOptions, 'connectMs' | 'probeMs'>

/** tokens in files are changed by the kubelet well before they expire, programs that give tokens cache them */
const FRESH_MS = 30_000

export class Credentials {
  readonly #config: KubeConfig
  readonly #options: ConnectionOptions
  #access: Access | null = null
  #certificates = ''
  #until = 0
  #refreshing: Promise<Access> | null = null

  /** Throws when there is no kubeconfig, or it names no cluster. */
  constructor(file: string | undefined, options: ConnectionOptions) {
    this.#options = options
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
    this.#access?.client.destroy()
  }

  async #refresh(): Promise<Access> {
    const options: RequestOptions = { headers: {} }
    await this.#config.applyToHTTPSOptions(options)
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(options.headers as OutgoingHttpHeaders)) {
      // a token's file may end with a newline
      headers[name] = String(value).trim()
    }
    if (options.auth) headers.Authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`
    const { server, proxyUrl } = this.#config.getCurrentCluster()!
    const { origin, pathname } = new URL(server)
    const tls = tlsOf(options)
    const certificates = JSON.stringify(Object.entries(tls).map(([name, value]) => [name, String(value)]))
    let client = this.#access?.client
    if (!client || certificates !== this.#certificates) {
      // what is under way on the old connections may end
      client?.close()
      client = new HttpClient({ origin, tls, ...this.#options, ...(proxyUrl && { proxy: proxyUrl }) })
    }
    this.#certificates = certificates
    this.#access = { basePath: pathname.replace(/\/+$/, ''), headers, client }
    this.#until = performance.now() + FRESH_MS
    return this.#access
  }
}

/** What is not said is left to node:tls. */
function tlsOf({ ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }: RequestOptions) {
  const all = { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
