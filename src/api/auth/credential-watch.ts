/**
 * Ends streams and waits when the credential that opened them ends. One statement every 2 s checks all keys and sessions,
 * and a NOTIFY of a revocation ends them immediately. See README.md.
 */
import { databaseFailure } from '../../domain/errors/database-error.ts'
import { UnauthenticatedError } from '../../domain/errors/errors.ts'
import { type ActiveCredential, activeCredentials, type Queries } from '../../domain/keys/identity.ts'
import type { Caller, CredentialWatch } from '../../domain/transaction/access.ts'
import { type Job, startJobs } from '../../platform/async/jobs.ts'
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
  const watched = new Map<string, Watched>()

  function end(name: string, message: string): void {
    const ended = watched.get(name)
    if (!ended) return
    watched.delete(name)
    for (const tell of ended.listeners)
      try {
        tell(new UnauthenticatedError(message))
      } catch (cause) {
        log.error({ err: cause }, 'a stream or wait could not be ended after its credential ended')
      }
  }

  async function round(): Promise<void> {
    const now = clock()
    for (const [name, { caller }] of watched)
      if (caller.credential?.kind === 'jwt' && caller.credential.endsAt <= now) end(name, 'The token has expired.')
    // credentials added during the query wait for the next check
    const stored = [...watched].filter(([, { caller }]) => caller.credential?.kind !== 'jwt')
    if (stored.length === 0) return
    const pairs = stored.map(([, { caller }]) => ({
      credentialId: credentialId(caller),
      workspaceId: caller.workspace.id,
    }))
    const active = await activeCredentials(queries, pairs)
    const rights = new Map(active.map((one) => [`${one.credentialId} ${one.workspaceId}`, one.rights]))
    for (const [name, one] of stored)
      if (watched.get(name) === one && !hasSameRights(one.caller, rights))
        end(name, isSession(one.caller) ? SESSION_ENDED : KEY_ENDED)
  }

  // open streams continue while the database is unavailable
  const isOutage = (error: unknown) => databaseFailure(error) === 'lost'
  const job: Job = { name: 'check of open credentials', intervalSeconds: intervalMs / 1000, woken: true, round }
  const jobs = startJobs(log, [job], isOutage)

  return {
    watch(caller, onEnded) {
      if (!caller.credential) return () => {}
      const name = watchKey(caller)
      const one = watched.get(name) ?? { caller, listeners: new Set() }
      watched.set(name, one)
      // wrapped, because the same function may be registered twice
      const listener = (error: UnauthenticatedError) => onEnded(error)
      one.listeners.add(listener)
      return () => {
        one.listeners.delete(listener)
        if (one.listeners.size === 0 && watched.get(name) === one) watched.delete(name)
      }
    },
    revoked(id) {
      for (const [name, { caller }] of watched) {
        const { credential } = caller
        if (credential?.kind === 'session') {
          if (credential.sessionId === id || credential.keyId === id) end(name, SESSION_ENDED)
        } else if (credential?.kind === 'key' && caller.actor.subject === id) end(name, 'The API key was revoked.')
      }
    },
    checkNow: jobs.wake,
    stop() {
      void jobs.stop()
      watched.clear()
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
