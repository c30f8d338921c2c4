/** An authorization as REST shows it. */
import type { z } from 'zod'
import type { AuthorizationView } from '../../domain/authorizations/schemas.ts'
import type { authorization } from '../oauth-schemas.ts'

export function presentAuthorization(view: AuthorizationView): z.output<typeof authorization> {
  return { status: view.status, url: view.url, auth_id: view.authId, oauth_token_id: view.tokenId }
}
