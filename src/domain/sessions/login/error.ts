/** Why a login failed. The code selects the text of the sign-in page (docs/api-rules.md#sessions). */
import { OAuthFailure } from '../../ports/oauth-client.ts'

const LOGIN_ERRORS = {
  denied: 'The provider or the person refused the login.',
  state_mismatch: 'The login was started in another browser, or newer logins replaced its cookie.',
  expired: 'The login took longer than ten minutes.',
  no_access: 'The claims of the person grant no role here: they are missing or name something unknown.',
  unavailable: 'The provider or a part of this server is unavailable.',
  failed: 'The provider sent an unusable response; the log has the details.',
  not_configured: 'This server has no login configured.',
} as const

export type LoginErrorCode = keyof typeof LOGIN_ERRORS

export class LoginError extends Error {
  readonly code: LoginErrorCode
  /** log details for the operator, without personal data; null: not a matter of configuration */
  readonly operatorDetails: object | null
  constructor(code: LoginErrorCode, forOperator: object | null = null) {
    super(LOGIN_ERRORS[code])
    this.name = 'LoginError'
    this.code = code
    this.operatorDetails = forOperator
  }
}

/** The provider or the person refused: not a configuration error. */
const DENIED = new Set(['access_denied', 'login_required', 'interaction_required', 'consent_required'])
const TEMPORARY = new Set(['temporarily_unavailable', 'server_error'])

/** Converts an error of the provider's client to a LoginError. */
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
