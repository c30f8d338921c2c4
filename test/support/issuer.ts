/** A real OpenID provider on a free port that issues JWT access tokens for our audience to its client. */
import { exportJWK, generateKeyPair } from 'jose'
// @ts-expect-error the package has no types, and these few lines need none
import Provider from 'oidc-provider'
import { startHttp } from './web-server.ts'

export const AUDIENCE = 'urn:pilothouse:test'

export interface Issuer {
  url: string
  jwksUrl: string
  /** The id of its signing key. */
  keyId: string
  /** Issues a token with these claims by the client-credentials grant. `sub` defaults to `ci-client`. */
  token(claims: Record<string, unknown>, how?: { audience?: string }): Promise<string>
  close(): Promise<void>
}

export async function startIssuer(): Promise<Issuer> {
  const http = await startHttp((request, response) => handle(request, response))
  const url = http.origin
  const keyId = `key-${Math.random().toString(36).slice(2)}`
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  // the claims of the next token
  let claims: Record<string, unknown> = {}
  let audience = AUDIENCE
  const provider = new Provider(url, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: keyId }] },
    clients: [
      {
        client_id: 'ci-client',
        client_secret: 'ci-client-secret',
        id_token_signed_response_alg: 'ES256',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        getResourceServerInfo: () => ({
          audience,
          scope: '',
          accessTokenFormat: 'jwt',
          accessTokenTTL: 600,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
    extraTokenClaims: () => claims,
    formats: {
      customizers: {
        jwt(_ctx: unknown, _token: unknown, { payload }: { payload: Record<string, unknown> }) {
          if ('sub' in claims) payload.sub = claims.sub
        },
      },
    },
  })
  const handle = provider.callback()
  return {
    url,
    jwksUrl: `${url}/jwks`,
    keyId,
    async token(wanted, how = {}) {
      claims = wanted
      audience = how.audience ?? AUDIENCE
      const response = await fetch(`${url}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from('ci-client:ci-client-secret').toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      })
      const body = (await response.json()) as { access_token?: string }
      if (!body.access_token) throw new Error(`the provider issued no token: ${JSON.stringify(body)}`)
      return body.access_token
    },
    close: http.close,
  }
}
