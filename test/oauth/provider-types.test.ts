/** Slack, Microsoft and Salesforce, according to their documentation. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { createOAuthClient } from '../../src/adapters/oauth/client.ts'
import { scopeParameters, toStandardResponse } from '../../src/adapters/oauth/token-response.ts'
import type { ProviderAccess } from '../../src/domain/ports/oauth-client.ts'
import type { ProviderType } from '../../src/domain/values/oauth-provider.ts'
import { idToken } from '../support/oauth-access.ts'
import { startWebServer } from '../support/web-server.ts'

const oauth = createOAuthClient({ allow: ['127.0.0.1'] })

/** A provider of this type with this response. */
async function provider(providerType: ProviderType, body: object) {
  const web = await startWebServer()
  onTestFinished(() => web.close())
  const answer = (next: object) => web.answer('/token', { body: next })
  answer(body)
  const access: ProviderAccess = {
    providerType,
    clientId: 'app',
    clientSecret: 'secret',
    tokenEndpointAuthMethod: 'client_secret_post',
    authUrl: 'https://provider.test/authorize',
    tokenUrl: `${web.origin}/token`,
    usesPkce: false,
    issuer: null,
    resource: null,
  }
  const exchanged = () =>
    oauth.exchange(access, {
      callback: new URLSearchParams({ code: 'c', state: 's' }),
      state: 's',
      redirectUri: 'https://pilothouse.test/v2/auth/callback/x',
      codeVerifier: null,
    })
  return { answer, exchanged, refreshed: () => oauth.refresh(access, 'r', 5000) }
}

describe('Slack', () => {
  // docs.slack.dev/reference/methods/oauth.v2.access
  const ANSWER = {
    ok: true,
    access_token: 'xoxb-17653672481-19874698323',
    token_type: 'bot',
    scope: 'commands,incoming-webhook',
    bot_user_id: 'U0KRQLJ9H',
    app_id: 'A0KRD7HC3',
    expires_in: 43200,
    refresh_token: 'xoxe-1-bot',
    team: { name: 'Slack Pickleball Team', id: 'T9TK3CUKW' },
    enterprise: { name: 'slack-pickleball', id: 'E12345678' },
    authed_user: {
      id: 'U1234',
      scope: 'chat:write,users:read',
      access_token: 'xoxp-1234',
      token_type: 'user',
      expires_in: 43200,
      refresh_token: 'xoxe-1-user',
    },
  }

  test('is asked for a token of the person, not of the app', () => {
    expect(scopeParameters('slack', ['chat:write', 'users:read'])).toEqual({ user_scope: 'chat:write,users:read' })
    expect(scopeParameters('slack', [])).toEqual({})
  })

  test('returns the person’s token, identified by workspace and id', async () => {
    const slack = await provider('slack', ANSWER)
    expect(await slack.exchanged()).toEqual({
      accessToken: 'xoxp-1234',
      tokenType: 'bearer',
      refreshToken: 'xoxe-1-user',
      expiresIn: 43200,
      scopes: ['chat:write', 'users:read'],
      account: { id: 'T9TK3CUKW/U1234', label: 'U1234 (Slack Pickleball Team)' },
    })
  })

  test('returns a refreshed token at the top level', async () => {
    const slack = await provider('slack', {
      ok: true,
      access_token: 'xoxe.xoxp-1-next',
      expires_in: 43200,
      refresh_token: 'xoxe-1-next',
      token_type: 'user',
      scope: 'chat:write',
      team: { id: 'T9TK3CUKW', name: 'Slack Pickleball Team' },
    })
    expect(await slack.refreshed()).toMatchObject({
      accessToken: 'xoxe.xoxp-1-next',
      refreshToken: 'xoxe-1-next',
      scopes: ['chat:write'],
      account: null,
    })
  })

  test('returns no token if it is the app’s', async () => {
    const slack = await provider('slack', { ...ANSWER, authed_user: { id: 'U1234' } })
    await expect(slack.exchanged()).rejects.toMatchObject({ kind: 'unusable' })
  })

  test('reports errors with status 200', async () => {
    const slack = await provider('slack', { ok: false, error: 'invalid_code' })
    await expect(slack.exchanged()).rejects.toMatchObject({ kind: 'refused', error: 'invalid_code' })
    slack.answer({ ok: false, error: 'invalid_refresh_token' })
    await expect(slack.refreshed()).rejects.toMatchObject({ kind: 'refused', error: 'invalid_grant' })
    slack.answer({ ok: false })
    await expect(slack.refreshed()).rejects.toMatchObject({ kind: 'unusable' })
  })
})

describe('Microsoft', () => {
  test('is always asked for a refresh token, once', () => {
    expect(scopeParameters('microsoft', ['User.Read'])).toEqual({ scope: 'User.Read offline_access' })
    expect(scopeParameters('microsoft', ['offline_access'])).toEqual({ scope: 'offline_access' })
  })

  test('grants offline_access implicitly', () => {
    const answer = { access_token: 'x', scope: 'User.Read' }
    expect(toStandardResponse('microsoft', { ...answer, refresh_token: 'r' }).scope).toBe('User.Read offline_access')
    expect(toStandardResponse('microsoft', answer).scope).toBe('User.Read')
  })

  test('identifies accounts without a mailbox', async () => {
    // learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow, id-token-claims-reference
    const microsoft = await provider('microsoft', {
      access_token: 'eyJ0',
      token_type: 'Bearer',
      expires_in: 3599,
      scope: 'https://graph.microsoft.com/mail.read',
      refresh_token: 'AwABAAAAvPM1KaPlrEqdFSBzjqfTGAMxZGUTdM0t4B4',
      id_token: idToken({ sub: 'pairwise', preferred_username: 'ann@corp.example', name: 'Ann' }),
    })
    expect(await microsoft.exchanged()).toMatchObject({
      scopes: ['https://graph.microsoft.com/mail.read', 'offline_access'],
      account: { id: 'pairwise', label: 'ann@corp.example' },
    })
  })
})

describe('Salesforce', () => {
  // help.salesforce.com: OAuth 2.0 Web Server Flow for Web App Integration
  const ID = 'https://login.salesforce.com/id/00D50000000IZ3ZEAW/00550000001fg5OAAQ'
  const ANSWER = {
    access_token:
      '00DB0000000TfcR!AQQAQFhoK8vTMg_rKA.esrJ2bCs.OOIjJgl.9Cx6O7KqjZmHMLOyVb.U61BU9tm4xRusf7d3fD1P9oefzqS6i9sJMPWj48IK',
    signature: 'd/SxeYBxH0GSVko0HMgcUxuZy0PA2cDDz1u7g7JtDHw=',
    scope: 'web openid',
    instance_url: 'https://mycompany.my.salesforce.com',
    id: ID,
    token_type: 'Bearer',
    issued_at: '1278448384422',
  }

  test('is asked for the caller’s scopes', () => {
    expect(scopeParameters('salesforce', ['api', 'refresh_token'])).toEqual({ scope: 'api refresh_token' })
  })

  test('identifies the account by its identity URL and sends no expiry', async () => {
    const salesforce = await provider('salesforce', ANSWER)
    expect(await salesforce.exchanged()).toMatchObject({
      expiresIn: null,
      refreshToken: null,
      scopes: ['web', 'openid'],
      account: { id: ID, label: ID },
    })
  })

  test('labels the account by the e-mail address of its id_token, with the same id', async () => {
    const claims = { sub: 'other', email: 'ann@example.com' }
    const salesforce = await provider('salesforce', { ...ANSWER, id_token: idToken(claims) })
    expect(await salesforce.exchanged()).toMatchObject({ account: { id: ID, label: 'ann@example.com' } })
    salesforce.answer({ ...ANSWER, id: undefined, id_token: idToken(claims) })
    expect(await salesforce.exchanged()).toMatchObject({ account: { id: 'other', label: 'ann@example.com' } })
  })
})

test.each(['invalid_refresh_token', 'bad_refresh_token', 'interaction_required'])(
  '%s is another name for invalid_grant',
  (error) => {
    expect(toStandardResponse(null, { error, error_description: 'x' })).toEqual({ error: 'invalid_grant' })
  },
)

test('a provider without a type gets a standard request', () => {
  expect(scopeParameters(null, ['a', 'b'])).toEqual({ scope: 'a b' })
  expect(scopeParameters(null, [])).toEqual({})
})
