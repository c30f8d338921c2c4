/**
 * Decides who may call a deployment, from the copy that a server sent (docs/deployments.md#access). Removes the control plane's
 * credentials from requests, and gives the agent a token that names the caller.
 */
import { createPublicKey, hash, type KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { AccessCopy, CallerKey, GuardedDeployment, GuardSettings } from '../domain/values/access-copy.ts'
import { isAgentHost } from '../domain/values/agent-host.ts'
import { resultWithin } from '../platform/async/time-limit.ts'
import { clientAddress, matcher } from '../platform/http/client-address.ts'
import type { Caller, CallerTokens } from './caller-tokens.ts'
import { claimsOf, cookieOf, LINK_HEADER, type Link, type LinkClaims, linkOf } from './signed-links.ts'

/** What happens to a request. */
export type Verdict = (
  | { allow: true }
  | { allow: false; status: 401 | 403 | 503; detail: string; headers?: Record<string, string> }
  /** to the same URL without the link's token, which the cookie has from now on */
  | { allow: false; location: string; cookie: string }
) & {
  /** absent: the request has no valid credential */
  caller?: Credential
}

/** The deployment that a request is for. */
export interface Asked {
  deployment: string
  /** it shares the port with others */
  named: boolean
  /** reached by a host name that no other deployment has, so its cookies are the deployment's own */
  ownHost: boolean
}

/** as in API answers (RFC 9110, 11.6.1) */
const CHALLENGE = 'Bearer realm="pilothouse"'
const ALLOWED: Verdict = { allow: true }
const UNAUTHENTICATED: Verdict = {
  allow: false,
  status: 401,
  detail: 'Send an API key of the deployment’s workspace in the X-Api-Key header, or open a signed link.',
  headers: { 'www-authenticate': CHALLENGE },
}
const FORBIDDEN: Verdict = { allow: false, status: 403, detail: 'The credential is not valid for this deployment.' }
const OFFLINE: Verdict = {
  allow: false,
  status: 503,
  detail: 'The door has heard from no server for APPS_OFFLINE_HOURS, so it can’t check credentials.',
}
const UNPREPARED: Verdict = {
  allow: false,
  status: 503,
  detail: 'No server has told the door yet who may call this deployment.',
}
const HOUR_MS = 3_600_000
/** headers that agents get from the door only, and the half of a session */
const OF_DOOR = ['x-pilothouse-caller', 'x-session', 'x-forwarded-prefix']
/** of keys that the server made (domain/keys/key.ts) */
const KEY_PREFIX = 'cpk_'
/** Public-key signatures only, as in the API (api/auth/jwt.ts). */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const JWT_ROLES = ['viewer', 'deployer', 'admin']
/** A JWT that was verified is not verified again for this time. */
const VERIFIED_MS = 60_000
const MAX_VERIFIED = 1000

/** A request with a link whose maker is too new for the copy waits for the next news, at most this long. */
const NEWS_MS = 3000
/** News takes this time from the database to the door. */
const NEWS_DELAY_MS = 1000

/** A valid credential: who calls, and what it is valid for. */
export interface Credential extends Caller {
  organization: string
  workspace: string | null
  /** the only deployment that a link is for */
  deployment?: string
  /** ms since 1970 */
  expires: number | null
}

export class Guard {
  readonly #tokens: CallerTokens
  #settings: GuardSettings | null = null
  #deployments = new Map<string, GuardedDeployment>()
  /** ids of deployments, by host and by name */
  #hosts = new Map<string, string>()
  #names = new Map<string, string>()
  #keys = new Map<string, CallerKey>()
  /** ids of valid keys and sessions */
  #valid = new Set<string>()
  #linkKeys = new Map<string, KeyObject>()
  #isTrusted: (address: string | undefined) => boolean = () => false
  #jwks: ReturnType<typeof createLocalJWKSet> | null = null
  /** by hash: JWTs that were verified, and when */
  readonly #verified = new Map<string, { credential: Credential; at: number }>()
  #heardAt = 0
  /** called at the next news */
  readonly #waiting = new Set<() => void>()

  constructor(tokens: CallerTokens) {
    this.#tokens = tokens
  }

  /** `heardAt`: when a server last said that the copy is right. */
  set(copy: AccessCopy, settings: GuardSettings, heardAt = Date.now()): void {
    this.#settings = settings
    this.#heardAt = heardAt
    this.#deployments = new Map(copy.deployments.map((one) => [one.id, one]))
    const named = copy.deployments.flatMap(({ id, name }) => (name === null ? [] : [[name, id] as const]))
    this.#names = new Map(named)
    this.#hosts = new Map([
      ...copy.deployments.flatMap(({ id, host }) => (host && !isReserved(host, settings) ? [[host, id] as const] : [])),
      // last, so that no custom_url replaces one
      ...named.map(([name, id]) => [settings.hosts.replace('{name}', name), id] as const),
    ])
    this.#keys = new Map(copy.keys.map((key) => [key.hash, key]))
    this.#valid = new Set([...copy.keys.map(({ id }) => id), ...copy.sessions])
    this.#linkKeys = new Map(copy.linkKeys.map(({ id, jwk }) => [id, createPublicKey({ key: jwk, format: 'jwk' })]))
    this.#isTrusted = matcher(settings.trustProxy)
    this.#jwks = settings.jwt && createLocalJWKSet({ keys: settings.jwt.keys as never })
    this.#verified.clear()
    this.#resume()
  }

  /** Undefined: no server has named the deployment. */
  workspaceOf(deployment: string): string | undefined {
    return this.#deployments.get(deployment)?.workspace
  }

  /** The server's copy is still the one that the guard has. */
  confirm(): void {
    this.#heardAt = Date.now()
    this.#resume()
  }

  #resume(): void {
    for (const resume of this.#waiting) resume()
    this.#waiting.clear()
  }

  /** PUBLIC_URL; null: no server has told it. */
  get dashboard(): string | null {
    return this.#settings?.issuer ?? null
  }

  /** The deployment of a host, or of the name in a path; null: unknown. Its keeper may be away. */
  find(host: string, name: string | null): Asked | null {
    const byHost = this.#hosts.get(host)
    if (byHost !== undefined) return { deployment: byHost, named: true, ownHost: true }
    const byName = name === null ? undefined : this.#names.get(name)
    return byName === undefined ? null : { deployment: byName, named: true, ownHost: false }
  }

  /** Removes headers that only the door or a trusted proxy may set. Comes first. */
  removeForged({ headers, socket: { remoteAddress } }: IncomingMessage): void {
    const keepsForwarded = !this.#settings || this.#isTrusted(remoteAddress)
    for (const name in headers) {
      // the same header to a CGI or WSGI program
      const alike = name.includes('_') ? name.replaceAll('_', '-') : name
      const isForged = isForwarded(alike) && (!keepsForwarded || alike !== name)
      if (isForged || OF_DOOR.includes(alike)) delete headers[name]
    }
  }

  /** The address of a client, which may be behind trusted proxies. */
  clientOf(request: IncomingMessage): string {
    return clientAddress(request, this.#isTrusted)
  }

  /** Whether a reverse proxy of the operator sent the request for itself, not for a client. */
  isProxy({ socket: { remoteAddress }, headers }: IncomingMessage): boolean {
    const isLoopback = /^(::ffff:)?127\.|^::1$/.test(remoteAddress ?? '')
    return (isLoopback || this.#isTrusted(remoteAddress)) && headers['x-forwarded-for'] === undefined
  }

  /**
   * Decides about a request, and removes its credentials. `asked`: null when no deployment has the address, so that the answer does
   * not depend on it. A door that never got a copy serves only deployments from before names, whose servers send none.
   */
  check(request: IncomingMessage, asked: Asked | null): Verdict | Promise<Verdict> {
    const link = linkOf(request, asked)
    delete request.headers[LINK_HEADER]
    const claims = link && claimsOf(link.token, this.#linkKeys)
    if (!claims || !this.#isNews(claims)) return this.#check(request, asked, link, claims)
    return this.#awaitNews(claims).then(() => this.#check(request, asked, link, claims))
  }

  /** Whether the link's maker may be missing only because the copy is older, as for a session that has just begun. */
  #isNews({ act, iat = 0 }: LinkClaims): boolean {
    return act.kind !== 'jwt' && !this.#valid.has(act.id) && iat * 1000 > this.#heardAt - NEWS_DELAY_MS
  }

  async #awaitNews(claims: LinkClaims): Promise<void> {
    const until = performance.now() + NEWS_MS
    for (let left = NEWS_MS; left > 0 && this.#isNews(claims); left = until - performance.now())
      await resultWithin(left, new Promise<void>((resolve) => this.#waiting.add(resolve)))
  }

  #check(
    request: IncomingMessage,
    asked: Asked | null,
    link: Link | null,
    claims: LinkClaims | null,
  ): Verdict | Promise<Verdict> {
    const { headers } = request
    if (!this.#settings) return asked?.named ? UNPREPARED : ALLOWED
    const deployment = asked && this.#deployments.get(asked.deployment)
    const isPublic = deployment?.access === 'public'
    const key = this.#keyOf(headers)
    const linked = claims && this.#linkCredential(claims)
    if (link?.fromQuery) return this.#openLink(request, link, linked, deployment ?? null)
    if (key) return this.#decide(request, key, deployment ?? null)
    if (linked) return this.#decide(request, linked, deployment ?? null)
    if (isPublic) return ALLOWED
    const jwt = bearerOf(headers)
    if (jwt?.split('.').length === 3 && this.#jwks)
      return this.#jwtCredential(jwt).then((credential) => {
        if (!credential) return UNAUTHENTICATED
        delete headers.authorization
        return this.#decide(request, credential, deployment ?? null)
      })
    return UNAUTHENTICATED
  }

  /** Allows the request and names its caller, or refuses it. */
  #decide({ headers }: IncomingMessage, credential: Credential, deployment: GuardedDeployment | null): Verdict {
    if (!deployment) return { ...FORBIDDEN, caller: credential }
    const { access, organization, workspace, id } = deployment
    const { issuer, offlineHours } = this.#settings!
    const isValid =
      organization === credential.organization &&
      (credential.workspace === null || credential.workspace === workspace || access === 'organization') &&
      (credential.deployment === undefined || credential.deployment === id)
    if (access !== 'public' && !isValid) return { ...FORBIDDEN, caller: credential }
    if (access !== 'public' && Date.now() > this.#heardAt + offlineHours * HOUR_MS)
      return { ...OFFLINE, caller: credential }
    // a public deployment has no callers of other organizations
    if (isValid) headers['x-pilothouse-caller'] = this.#tokens.tokenFor(credential, deployment, issuer)
    return { allow: true, caller: credential }
  }

  /** The caller's valid key. Removes it, so that the agent does not get it. */
  #keyOf(headers: IncomingMessage['headers']): Credential | null {
    const own = headers['x-api-key']
    const bearer = bearerOf(headers)
    const [byHeader, byBearer] = [own, bearer].map((text) =>
      typeof text === 'string' ? this.#keys.get(hash('sha256', text)) : undefined,
    )
    // also when it is not valid any more
    if (byHeader || (typeof own === 'string' && own.startsWith(KEY_PREFIX))) delete headers['x-api-key']
    if (byBearer || bearer?.startsWith(KEY_PREFIX)) delete headers.authorization
    const key = byHeader ?? byBearer
    if (!key || (key.expires !== null && key.expires <= Date.now())) return null
    return { ...key, kind: 'key', subject: key.id }
  }

  /** Sets the link's cookie and sends the browser to the URL without its token. */
  #openLink(
    request: IncomingMessage,
    { token, rest }: Link,
    credential: Credential | null,
    deployment: GuardedDeployment | null,
  ): Verdict {
    request.url = rest
    const isPublic = deployment?.access === 'public'
    if (!credential) return isPublic ? { allow: false, location: rest, cookie: '' } : UNAUTHENTICATED
    const decided = this.#decide(request, credential, deployment)
    if (!decided.allow) return decided
    const secure = this.#settings!.secure || isEncrypted(request)
    const cookie = cookieOf(token, { expires: credential.expires!, secure })
    return { allow: false, location: rest, cookie, caller: credential }
  }

  /** Null: the credential of its maker has ended. */
  #linkCredential({ sub, act, org, ws, role, exp }: LinkClaims): Credential | null {
    if (act.kind !== 'jwt' && !this.#valid.has(act.id)) return null
    return {
      kind: act.kind,
      subject: act.id,
      organization: org,
      workspace: ws,
      role,
      deployment: sub,
      expires: exp * 1000,
    }
  }

  async #jwtCredential(token: string): Promise<Credential | null> {
    const digest = hash('sha256', token)
    const known = this.#verified.get(digest)
    if (known && known.at + VERIFIED_MS > Date.now() && known.credential.expires! > Date.now()) return known.credential
    try {
      const { issuer, audience } = this.#settings!.jwt!
      const options = { issuer, audience, algorithms: ALGORITHMS, clockTolerance: 5, requiredClaims: ['exp', 'sub'] }
      const { payload } = await jwtVerify(token, this.#jwks!, options)
      const { sub, org, workspace = null, role, exp } = payload as Record<string, unknown>
      if (typeof org !== 'string' || !JWT_ROLES.includes(String(role))) return null
      const credential: Credential = {
        kind: 'person',
        subject: String(sub),
        organization: org.toLowerCase(),
        workspace: typeof workspace === 'string' ? workspace.toLowerCase() : null,
        role: String(role),
        expires: Number(exp) * 1000,
      }
      if (this.#verified.size >= MAX_VERIFIED) this.#verified.clear()
      this.#verified.set(digest, { credential, at: Date.now() })
      return credential
    } catch {
      return null
    }
  }
}

/** `X-Forwarded-Proto` is left only when a trusted proxy sent it. */
const isEncrypted = ({ headers, socket }: IncomingMessage): boolean =>
  'encrypted' in socket || headers['x-forwarded-proto'] === 'https'

/** Whether a custom_url must not have the host: names that may be given later, and the control plane have it. */
const isReserved = (host: string, { hosts, issuer }: GuardSettings): boolean =>
  isAgentHost(host, hosts) || host === new URL(issuer).hostname

const bearerOf = ({ authorization }: IncomingMessage['headers']): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]

const isForwarded = (name: string): boolean =>
  name.startsWith('x-forwarded-') || name === 'forwarded' || name === 'x-real-ip'
