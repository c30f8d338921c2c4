/** Finishes a login: reads the person's claims and returns the code that opens their session. */

import { findTenancy } from '../../keys/identity.ts'
import { personName, readPerson } from '../../keys/person-claims.ts'
import type { Core } from '../../transaction/context.ts'
import { issueSessionCode } from '../issue-code.ts'
import { CALLBACK_PATH } from './begin.ts'
import { LoginError, throwLoginError } from './error.ts'
import { openLogin } from './state.ts'

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
