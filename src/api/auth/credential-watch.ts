/**
 * Ends streams and waits with the credential that opened them. Each key and each session is watched once, however many it has open: one
 * statement every 2 s asks about all of them, and a NOTIFY of a revocation ends them at once. While the database is away
 * nobody is ended, and it is tried on. A JWT is asked of nobody: it ends at its `exp`.
 */

import { UnauthenticatedError } from '../../domain/errors/errors.ts'
import { type HoldingCredential, holdingCredentials, type Queries } from '../../domain/keys/holding.ts'
import type { Caller, CredentialWatch } from '../../domain/transaction/credential.ts'
import type { Log } from '../../platform/log/log.ts'

export interface WatchOptions {
  /** within bounds of its own: an answer comes within seconds, or an error */
  queries: Queries
  clock: () => Date
  log: Log
  /** ms between two looks; default 2 s */
  every?: number
}

export interface ControlledWatch extends CredentialWatch {
  /** The key or session is revoked: that is committed. A session ends with its key. */
  revoked(id: string): void
  /** Revocations may have been missed: looks at once. */
  missed(): void
  /** Nobody is told of anything any more. */
  stop(): void
}

const EVERY = 2_000
/** ms between the end of a look that took long and the next one */
const SHORTEST_PAUSE = 200

/** One credential in one workspace with one set of rights, and who is to be told of its end. */
interface Watched {
  caller: Caller
  listeners: Set<(error: UnauthenticatedError) => void>
}

export function createCredentialWatch({ queries, clock, log, every = EVERY }: WatchOptions): ControlledWatch {
  const keys = new Map<string, Watched>()
  const jwts = new Map<string, Watched>()
  let timer: NodeJS.Timeout | null = null
  let looking = false
  let again = false
  let down = false
  let stopped = false

  function end(among: Map<string, Watched>, name: string, message: string): void {
    const ended = among.get(name)
    if (!ended) return
    among.delete(name)
    for (const tell of ended.listeners)
      try {
        tell(new UnauthenticatedError(message))
      } catch (cause) {
        log.error({ err: cause }, 'what a credential had open could not be ended')
      }
  }

  async function look(): Promise<void> {
    again = true
    if (looking || stopped) return
    looking = true
    if (timer) clearTimeout(timer)
    const began = performance.now()
    while (again && !stopped) {
      again = false
      endExpired()
      await askForKeys()
    }
    looking = false
    timer = null
    schedule(Math.max(SHORTEST_PAUSE, every - (performance.now() - began)))
  }

  function schedule(ms: number): void {
    if (timer || looking || stopped || keys.size + jwts.size === 0) return
    timer = setTimeout(() => void look(), ms)
  }

  function endExpired(): void {
    const now = clock()
    for (const [name, { caller }] of jwts)
      if (caller.credential?.kind === 'jwt' && caller.credential.endsAt <= now)
        end(jwts, name, 'The token has expired.')
  }

  async function askForKeys(): Promise<void> {
    // those who come while it is asked are of the next look
    const asked = [...keys]
    if (asked.length === 0) return
    const pairs = asked.map(([, { caller }]) => ({ credentialId: idOf(caller), workspaceId: caller.workspace.id }))
    const holding = await holdingCredentials(queries, pairs).catch((error) => {
      if (!down) log.warn({ err: error }, 'nobody can tell now whether keys hold; what they have open goes on')
      down = true
      return null
    })
    if (!holding || stopped) return
    down = false
    const rights = new Map(holding.map((one) => [`${one.credentialId} ${one.workspaceId}`, one.rights]))
    for (const [name, one] of asked)
      if (keys.get(name) === one && !hasStill(one.caller, rights))
        end(keys, name, isOfSession(one.caller) ? SESSION_OVER : KEY_OVER)
  }

  return {
    watch(caller, onEnded) {
      const { credential } = caller
      if (!credential || stopped) return () => {}
      const among = credential.kind === 'jwt' ? jwts : keys
      const name = nameOf(caller)
      const one = among.get(name) ?? { caller, listeners: new Set() }
      among.set(name, one)
      // a function of its own: the same one may be given twice
      const listener = (error: UnauthenticatedError) => onEnded(error)
      one.listeners.add(listener)
      schedule(every)
      return () => {
        one.listeners.delete(listener)
        if (one.listeners.size === 0 && among.get(name) === one) among.delete(name)
      }
    },
    revoked(id) {
      for (const [name, { caller }] of keys) {
        const { credential } = caller
        if (credential?.kind === 'session') {
          if (credential.sessionId === id || credential.keyId === id) end(keys, name, SESSION_OVER)
        } else if (caller.actor.subject === id) end(keys, name, 'The API key was revoked.')
      }
    },
    missed: () => void look(),
    stop() {
      stopped = true
      if (timer) clearTimeout(timer)
      keys.clear()
      jwts.clear()
    },
  }
}

/** Rights are part of it: a call may have been let in with others a moment ago. */
function nameOf({ actor, workspace, credential }: Caller): string {
  const { organizationId, subject, role, secretsRead } = actor
  const ends = credential?.kind === 'jwt' ? credential.endsAt.getTime() : ''
  const session = credential?.kind === 'session' ? credential.sessionId : ''
  return `${organizationId} ${workspace.id} ${role} ${secretsRead} ${ends} ${session} ${subject}`
}

const KEY_OVER = 'The API key has expired or was revoked, or its rights have changed.'
const SESSION_OVER = 'The session has ended, or its rights have changed: sign in again.'

const isOfSession = ({ credential }: Caller): boolean => credential?.kind === 'session'

/** Of what is asked about. */
const idOf = ({ actor, credential }: Caller): string =>
  credential?.kind === 'session' ? credential.sessionId : actor.subject

function hasStill(caller: Caller, rights: ReadonlyMap<string, HoldingCredential['rights']>): boolean {
  const { actor, workspace } = caller
  const now = rights.get(`${idOf(caller)} ${workspace.id}`)
  return (
    now !== undefined &&
    now.role === actor.role &&
    now.secretsRead === actor.secretsRead &&
    now.listenerId === actor.listenerId &&
    now.agentId === actor.agentId
  )
}
