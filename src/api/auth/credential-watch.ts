/**
 * Ends streams and waits when the credential that opened them ends. One statement every 2 s checks all keys and sessions,
 * and a NOTIFY of a revocation ends them immediately. See README.md.
 */

import { UnauthenticatedError } from '../../domain/errors/errors.ts'
import { type ActiveCredential, activeCredentials, type Queries } from '../../domain/keys/identity.ts'
import type { Caller, CredentialWatch } from '../../domain/transaction/access.ts'
import type { Log } from '../../platform/log/log.ts'

export interface WatchOptions {
  /** a bounded pool: it answers or fails within seconds */
  queries: Queries
  clock: () => Date
  log: Log
  /** between two checks; default 2 s */
  intervalMs?: number
}

export interface ControlledCredentialWatch extends CredentialWatch {
  /** Call it when a revocation is committed. Revoking a key ends its sessions, too. */
  revoked(id: string): void
  /** Checks immediately, because revocations may have been missed. */
  checkNow(): void
  /** Stops watching without notifying anyone. */
  stop(): void
}

const CHECK_INTERVAL_MS = 2_000
/** Minimum pause after a slow check. */
const MIN_PAUSE_MS = 200

/** One credential in one workspace with one set of rights, and the listeners to notify of its end. */
interface Watched {
  caller: Caller
  listeners: Set<(error: UnauthenticatedError) => void>
}

export function createCredentialWatch({
  queries,
  clock,
  log,
  intervalMs = CHECK_INTERVAL_MS,
}: WatchOptions): ControlledCredentialWatch {
  const keys = new Map<string, Watched>()
  const jwts = new Map<string, Watched>()
  let timer: NodeJS.Timeout | null = null
  let isChecking = false
  let recheck = false
  let isDatabaseDown = false
  let stopped = false

  function end(among: Map<string, Watched>, name: string, message: string): void {
    const ended = among.get(name)
    if (!ended) return
    among.delete(name)
    for (const tell of ended.listeners)
      try {
        tell(new UnauthenticatedError(message))
      } catch (cause) {
        log.error({ err: cause }, 'a stream or wait could not be ended after its credential ended')
      }
  }

  async function check(): Promise<void> {
    recheck = true
    if (isChecking || stopped) return
    isChecking = true
    if (timer) clearTimeout(timer)
    const began = performance.now()
    while (recheck && !stopped) {
      recheck = false
      endExpired()
      await endRevoked()
    }
    isChecking = false
    timer = null
    schedule(Math.max(MIN_PAUSE_MS, intervalMs - (performance.now() - began)))
  }

  function schedule(ms: number): void {
    if (timer || isChecking || stopped || keys.size + jwts.size === 0) return
    timer = setTimeout(() => void check(), ms)
  }

  function endExpired(): void {
    const now = clock()
    for (const [name, { caller }] of jwts)
      if (caller.credential?.kind === 'jwt' && caller.credential.endsAt <= now)
        end(jwts, name, 'The token has expired.')
  }

  async function endRevoked(): Promise<void> {
    // credentials added during the query wait for the next check
    const watched = [...keys]
    if (watched.length === 0) return
    const pairs = watched.map(([, { caller }]) => ({
      credentialId: credentialId(caller),
      workspaceId: caller.workspace.id,
    }))
    const holding = await activeCredentials(queries, pairs).catch((error) => {
      if (!isDatabaseDown)
        log.warn(
          { err: error },
          'the database did not answer, so credentials could not be checked; open streams continue',
        )
      isDatabaseDown = true
      return null
    })
    if (!holding || stopped) return
    isDatabaseDown = false
    const rights = new Map(holding.map((one) => [`${one.credentialId} ${one.workspaceId}`, one.rights]))
    for (const [name, one] of watched)
      if (keys.get(name) === one && !hasSameRights(one.caller, rights))
        end(keys, name, isSession(one.caller) ? SESSION_ENDED : KEY_ENDED)
  }

  return {
    watch(caller, onEnded) {
      const { credential } = caller
      if (!credential || stopped) return () => {}
      const among = credential.kind === 'jwt' ? jwts : keys
      const name = watchKey(caller)
      const one = among.get(name) ?? { caller, listeners: new Set() }
      among.set(name, one)
      // wrapped, because the same function may be registered twice
      const listener = (error: UnauthenticatedError) => onEnded(error)
      one.listeners.add(listener)
      schedule(intervalMs)
      return () => {
        one.listeners.delete(listener)
        if (one.listeners.size === 0 && among.get(name) === one) among.delete(name)
      }
    },
    revoked(id) {
      for (const [name, { caller }] of keys) {
        const { credential } = caller
        if (credential?.kind === 'session') {
          if (credential.sessionId === id || credential.keyId === id) end(keys, name, SESSION_ENDED)
        } else if (caller.actor.subject === id) end(keys, name, 'The API key was revoked.')
      }
    },
    checkNow: () => void check(),
    stop() {
      stopped = true
      if (timer) clearTimeout(timer)
      keys.clear()
      jwts.clear()
    },
  }
}

/** Rights are part of the key: an earlier call may have been admitted with different rights. */
function watchKey({ actor, workspace, credential }: Caller): string {
  const { organizationId, subject, role, secretsRead } = actor
  const ends = credential?.kind === 'jwt' ? credential.endsAt.getTime() : ''
  const session = credential?.kind === 'session' ? credential.sessionId : ''
  return `${organizationId} ${workspace.id} ${role} ${secretsRead} ${ends} ${session} ${subject}`
}

const KEY_ENDED = 'The API key has expired or was revoked, or its rights have changed.'
const SESSION_ENDED = 'The session has ended or its rights have changed. Sign in again.'

const isSession = ({ credential }: Caller): boolean => credential?.kind === 'session'

/** The id that the check asks for. */
const credentialId = ({ actor, credential }: Caller): string =>
  credential?.kind === 'session' ? credential.sessionId : actor.subject

function hasSameRights(caller: Caller, rights: ReadonlyMap<string, ActiveCredential['rights']>): boolean {
  const { actor, workspace } = caller
  const now = rights.get(`${credentialId(caller)} ${workspace.id}`)
  return (
    now !== undefined &&
    now.role === actor.role &&
    now.secretsRead === actor.secretsRead &&
    now.listenerId === actor.listenerId &&
    now.agentId === actor.agentId
  )
}
