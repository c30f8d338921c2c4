/** A login at the organization's provider: begins with a URL and a sealed state, ends with the code that opens a session. */

import { OutboundFailure } from '../../platform/http/outbound-failure.ts'
import { seal, unseal } from '../crypto/encrypted-value.ts'
import { randomToken } from '../crypto/random-token.ts'
import { findTenancy, personName, readPerson } from '../keys/identity.ts'
import type { LoginSecrets } from '../ports/login.ts'
import type { Core, ReadCore } from '../transaction/context.ts'
import { issueSessionCode } from './open.ts'

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
function throwLoginError(error: unknown): never {
  if (!(error instanceof OutboundFailure)) throw error
  const code = codeOf(error)
  throw new LoginError(code, code === 'denied' ? null : { said: error.message })
}

function codeOf({ kind, error }: OutboundFailure): LoginErrorCode {
  if (kind === 'unreachable' || kind === 'unanswered') return 'unavailable'
  if (error !== null && DENIED.has(error)) return 'denied'
  return error !== null && TEMPORARY.has(error) ? 'unavailable' : 'failed'
}

/** Time that a person may spend at the provider. */
export const LOGIN_SECONDS = 600

/** `state` contains its creation time, so an expired login is recognised even after its cookie is gone. */
export function newLogin(now: Date): LoginSecrets {
  return { state: `${randomToken()}.${now.getTime().toString(36)}`, nonce: randomToken(), codeVerifier: randomToken() }
}

const sealContext = (state: string) => `sessions.login:${state}`

/** `sealed`: the browser's cookies for this state, possibly also forged ones. Throws LoginError. */
function openLogin({ keyring, clock }: ReadCore, state: string, sealed: readonly string[]): LoginSecrets {
  // the creation time that the state claims, verified by the seal
  const createdAtMs = Number.parseInt(state.split('.')[1] ?? '', 36)
  if (clock().getTime() - createdAtMs > LOGIN_SECONDS * 1000) throw new LoginError('expired')
  for (const one of sealed)
    try {
      return { state, ...JSON.parse(unseal(keyring, sealContext(state), one)) }
    } catch {
      // not sealed by this server for this state
    }
  throw new LoginError('state_mismatch')
}

/** Redirect URI, below PUBLIC_URL. */
export const CALLBACK_PATH = '/v2/sessions/oidc/callback'

interface BegunLogin {
  url: string
  state: string
  /** cookie value for this browser only; useless without `state` */
  sealed: string
}

/** Throws LoginError. */
export async function beginLogin(core: Core): Promise<BegunLogin> {
  if (!core.login) throw new LoginError('not_configured')
  const login = newLogin(core.clock())
  const url = await core.login.authorizationUrl(core.publicUrl() + CALLBACK_PATH, login).catch(throwLoginError)
  const { state, ...secrets } = login
  return { url, state, sealed: seal(core.keyring, sealContext(state), JSON.stringify(secrets)) }
}

/** Short, because the page exchanges the code as soon as it loads. */
export const CODE_SECONDS = 60

export interface FinishInput {
  parameters: URLSearchParams
  /** values of all cookies with this login's name; other hosts or ports may have set some of them */
  sealed: readonly string[]
  /** value of the cookie that the browser must send with the code */
  boundTo: string
}

/** Throws LoginError. The session gets the rights of the current claims and a person's maximum lifetime (open.ts). */
export async function finishLogin(core: Core, { parameters, sealed, boundTo }: FinishInput): Promise<string> {
  if (!core.login) throw new LoginError('not_configured')
  const login = openLogin(core, parameters.get('state') ?? '', sealed)
  const claims = await core.login
    .claims(parameters, core.publicUrl() + CALLBACK_PATH, login, (some) => 'person' in readPerson(some))
    .catch(throwLoginError)
  const read = readPerson(claims)
  if ('wrong' in read) return refuse({ claims: read.wrong })
  const { person } = read
  const { organizationId, workspaceId } = person
  const found = await findTenancy(core, organizationId, workspaceId)
  if (!found) return refuse({ organizationId })
  if (workspaceId !== null && found.tenantId === null) return refuse({ organizationId, workspaceId })
  const grant = { ...person, kind: 'person', name: personName(claims, person) } as const
  return issueSessionCode(core, grant, { seconds: CODE_SECONDS, boundTo })
}

function refuse(wrong: object): never {
  throw new LoginError('no_access', { wrong })
}
