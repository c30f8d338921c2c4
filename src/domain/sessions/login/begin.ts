/** Starts a login at the organization's provider: the authorization URL, and the sealed state for the browser's cookie. */
import type { Core } from '../../transaction/context.ts'
import { LoginError, throwLoginError } from './error.ts'
import { newLogin, sealLogin } from './state.ts'

/** Redirect URI, below PUBLIC_URL. */
export const CALLBACK_PATH = '/v2/sessions/oidc/callback'

export interface BegunLogin {
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
  return { url, state: login.state, sealed: sealLogin(core, login) }
}
