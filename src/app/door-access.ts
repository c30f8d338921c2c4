/** What this server tells the door of its machine about callers: the copy from the database, and settings. */
import { createRemoteJWKSet } from 'jose'
import type { AccessSource } from '../dataplane/process/door/access-push.ts'
import { readAccessCopy, saveCallerKey } from '../domain/keys/access-copy.ts'
import { linkKey } from '../domain/keys/signing-keys.ts'
import type { ReadCore } from '../domain/transaction/context.ts'
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

export function createDoorAccess(core: ReadCore, config: Config): AccessSource {
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
      return readAccessCopy(core, known)
    },
    saveCallerKey: (key) => saveCallerKey(core, key),
    settings: () => ({
      issuer: core.publicUrl(),
      hosts: (config.APPS_URL ?? 'http://{name}.localhost').replace(/^https?:\/\/|:\d+$/g, '').toLowerCase(),
      secure: isSecure(config),
      trustProxy: config.TRUST_PROXY,
      offlineHours: config.APPS_OFFLINE_HOURS,
      jwt: issuer && audience && jwks ? { issuer, audience, keys: issuerKeys() as never } : null,
    }),
  }
}
