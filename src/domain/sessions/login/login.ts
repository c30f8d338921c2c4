/** A login at the organization's provider: begins with a URL and a sealed state, ends with the code that opens a session. */

import { findTenancy } from '../../keys/identity.ts'
import { personName, readPerson } from '../../keys/person-claims.ts'
import type { Core } from '../../transaction/context.ts'
import { issueSessionCode } from '../issue-code.ts'
import { LoginError, throwLoginError } from './error.ts'
import { newLogin, openLogin, sealLogin } from './state.ts'

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
  return { url, state: login.state, sealed: sealLogin(core, login) }
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

/** Throws LoginError. The session gets the rights of the current claims and a person's maximum lifetime (issue-code.ts). */
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
