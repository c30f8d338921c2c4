/** What this server tells doors, of its machine or of clusters: the copy from the database, and settings. */
import { createRemoteJWKSet } from 'jose'
import type { DoorNewsSource } from '../api/server/door-stream.ts'
import type { Bounds } from '../dataplane/process/door/messages.ts'
import type { AccessSource } from '../dataplane/process/door/server-link.ts'
import { linkKey, readAccessCopy, saveCallerKey } from '../domain/keys/access-copy.ts'
import { recordDoorMetrics } from '../domain/metrics/record.ts'
import type { ReadCore } from '../domain/transaction/context.ts'
import type { DoorCluster } from '../domain/values/access-copy.ts'
import { agentHostsOf } from '../domain/values/agent-host.ts'
import type { Config } from '../platform/config/config.ts'

/** The issuer's keys are fetched again after this time. */
const JWKS_MS = 300_000

const isSecure = ({ APPS_URL, APPS_TLS_CERT }: Config): boolean =>
  APPS_URL?.startsWith('https:') ?? APPS_TLS_CERT !== undefined

/** The addresses of all agents, for Content-Security-Policy: it has no pattern within a part of a host. */
export function agentAddresses(config: Config): string {
  const { APPS_URL, APPS_PORT } = config
  const byDefault = `${isSecure(config) ? 'https' : 'http'}://{name}.localhost:${APPS_PORT || '*'}`
  return (APPS_URL ?? byDefault).replace(/[^/.]*\{name\}[^.:]*/, '*').toLowerCase()
}

/** `cluster`: null for the door of this machine. */
export function createDoorAccess(core: ReadCore, config: Config, cluster: DoorCluster | null = null): AccessSource {
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: jwksUrl } = config
  const jwks = jwksUrl ? createRemoteJWKSet(new URL(jwksUrl), { timeoutDuration: 3000 }) : null
  let fetchedAt = Number.NEGATIVE_INFINITY

  function issuerKeys() {
    if (jwks && performance.now() - fetchedAt > JWKS_MS) {
      fetchedAt = performance.now()
      // the door keeps the keys of before; JWTs of the API are checked separately
      void jwks.reload().catch(() => {
        fetchedAt = Number.NEGATIVE_INFINITY
      })
    }
    return jwks?.jwks()?.keys ?? []
  }

  return {
    async read(known) {
      // the door must know the key before the first link is made
      if (known === null) await linkKey(core)
      return readAccessCopy(core, known, cluster)
    },
    saveCallerKey: (key) => saveCallerKey(core, key),
    settings: () => ({
      issuer: core.publicUrl(),
      hosts: agentHostsOf(config.APPS_URL ?? 'http://{name}.localhost'),
      secure: isSecure(config),
      trustProxy: config.TRUST_PROXY,
      offlineHours: config.APPS_OFFLINE_HOURS,
      accessLog: config.APPS_ACCESS_LOG,
      jwt: issuer && audience && jwks ? { issuer, audience, keys: issuerKeys() as never } : null,
    }),
  }
}

/** What this server tells the doors of its cluster. */
export function createClusterDoorNews(core: ReadCore, config: Config): DoorNewsSource {
  const namespace = config.RUNTIME === 'kubernetes' ? (config.K8S_NAMESPACE ?? null) : null
  const cluster = { listeners: config.DOOR_LISTENERS, namespace }
  const access = createDoorAccess(core, config, cluster)
  return {
    ...access,
    settings: () => ({ settings: access.settings(), bounds: boundsOf(config) }),
    saveMetrics: (body) => recordDoorMetrics(core, cluster, body),
  }
}

/** Limits of one deployment's requests. */
export function boundsOf(config: Config): Bounds {
  return {
    requests: config.APP_REQUESTS,
    requestsPerSecond: config.APP_REQUESTS_PER_SECOND,
    clientRequestsPerSecond: config.APP_CLIENT_REQUESTS_PER_SECOND,
    bodyBytes: config.APP_BODY_MB && config.APP_BODY_MB * 1_000_000,
    headerMs: config.HEADER_SECONDS * 1000,
    idleMs: config.APP_CONNECTION_IDLE_SECONDS && config.APP_CONNECTION_IDLE_SECONDS * 1000,
    trustProxy: config.TRUST_PROXY,
  }
}
