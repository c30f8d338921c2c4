/** Settings of logins other than API keys: JWTs, sessions and the organization's own login (OpenID Connect). */
import { z } from 'zod'
import { integer, type SettingsTable, url } from './setting-types.ts'

/** Passwords go to the issuer, so it must use https, except on this machine. */
const issuer = url.refine((text) => {
  const { protocol, hostname, search, hash, username } = new URL(text)
  const own = hostname === 'localhost' || hostname.endsWith('.localhost') || ['127.0.0.1', '[::1]'].includes(hostname)
  return (protocol === 'https:' || own) && search === '' && hash === '' && username === ''
}, 'must be an https URL (http only on this machine) without a query')
const scopes = z
  .string()
  .transform((text) => text.split(/[\s,]+/).filter(Boolean))
  .refine(
    (scopes) => scopes.includes('openid') && scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)),
    'must be scopes with spaces between, openid among them',
  )

export const LOGIN_SETTINGS = {
  JWT_ISSUER: [url.optional(), null, 'issuer of accepted JWTs; with it, `Authorization: Bearer <jwt>` is on'],
  JWT_AUDIENCE: [z.string().min(1).optional(), null, 'audience of accepted JWTs; required with `JWT_ISSUER`'],
  JWT_JWKS_URL: [url.optional(), null, 'URL of the issuer’s keys; required with `JWT_ISSUER`'],
  SESSION_HOURS: [
    integer(1, 8760),
    '168',
    'longest duration of a dashboard session; it also ends with the key that opened it, and a person’s session after 12 hours',
  ],
  OIDC_ISSUER: [
    issuer.optional(),
    null,
    'issuer of the organization’s own login ([OpenID Connect](operations.md#login-by-openid-connect)); with it and `OIDC_CLIENT_ID` people sign in to the dashboard there',
  ],
  OIDC_CLIENT_ID: [z.string().min(1).optional(), null, 'client id at the issuer; required with `OIDC_ISSUER`'],
  OIDC_CLIENT_SECRET: [z.string().min(1).optional(), null, 'secret of the client. None: a public client'],
  OIDC_SCOPES: [scopes, 'openid profile email', 'requested scopes, space-separated, including `openid`'],
  OIDC_NAME: [
    z.string().max(60, 'must have at most 60 characters').optional(),
    null,
    'name on the button “Sign in with …”. Default: the host of `OIDC_ISSUER`',
  ],
} as const satisfies SettingsTable
