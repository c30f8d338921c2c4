/** What a server does about people's tokens without being asked. A round that finds nothing to do is one statement. */
import type { Core } from '../domain/context.ts'
import { refreshExpiring } from '../domain/tokens/refresh-expiring.ts'
import { revokeDue } from '../domain/tokens/revoke.ts'
import { type Jobs, startJobs } from './jobs.ts'

/** Tokens are refreshed minutes ahead, and whoever needs one earlier does it. */
const REFRESH_SECONDS = 30

/** `seconds`: the pause between two looks for revocations that are due (SWEEP_SECONDS). */
export function startOAuthJobs(core: Core, seconds: number): Jobs {
  return startJobs(core, 'OAuth', [
    { name: 'revocations', every: seconds, woken: false, round: revokeDue },
    { name: 'refreshes', every: Math.max(seconds, REFRESH_SECONDS), woken: false, round: refreshExpiring },
  ])
}
