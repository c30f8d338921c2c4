/** Why nobody was signed in, in words of one kind: what the page of the sign-in says is decided by them (docs/api-rules.md#sessions). */
import { OAuthFailure } from '../../ports/oauth-client.ts'

const LOGIN_ERRORS = {
  denied: 'The provider has refused it, or the person has.',
  state_mismatch: 'It was not this browser that began it, or it was begun so often that this one was forgotten.',
  expired: 'It took longer than ten minutes.',
  no_access:
    'The provider knows the person, but gives no role here: the claims are missing, or name what does not exist.',
  unavailable: 'The provider, or a part of this server, does not answer now.',
  failed: 'The provider has answered with something that can’t be used: the log says what.',
  not_configured: 'This server has no login of an organization.',
} as const

export type LoginErrorCode = keyof typeof LOGIN_ERRORS

export class LoginError extends Error {
  readonly code: LoginErrorCode
  /** what whoever has set up the provider has to hear, with nothing of the person; null: it is no matter of theirs */
  readonly operatorDetails: object | null
  constructor(code: LoginErrorCode, forOperator: object | null = null) {
    super(LOGIN_ERRORS[code])
    this.name = 'LoginError'
    this.code = code
    this.operatorDetails = forOperator
  }
}

/** At the provider: that is no fault of theirs who have set it up. */
const DENIED = new Set(['access_denied', 'login_required', 'interaction_required', 'consent_required'])
const TEMPORARY = new Set(['temporarily_unavailable', 'server_error'])

/** Throws the LoginError that this is to the person. */
export function throwLoginError(error: unknown): never {
  if (!(error instanceof OAuthFailure)) throw error
  const code = codeOf(error)
  throw new LoginError(code, code === 'denied' ? null : { said: error.message })
}

function codeOf({ kind, error }: OAuthFailure): LoginErrorCode {
  if (kind === 'unreachable' || kind === 'unanswered') return 'unavailable'
  if (error !== null && DENIED.has(error)) return 'denied'
  return error !== null && TEMPORARY.has(error) ? 'unavailable' : 'failed'
}
