/** JWTs as Bearer (docs/api-rules.md#who-is-calling), from a real local provider and from forgers. */
import { randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { type Call, type TestApp, testApp, useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { imageBody, imageDeployment } from '../support/factories.ts'
import { AUDIENCE, startIssuer } from '../support/issuer.ts'
import { useStarted } from '../support/started.ts'
import { startWebServer } from '../support/web-server.ts'

const issuer = useStarted(startIssuer)
const app = useApp(() => ({ settings: jwtSettings(issuer.jwksUrl) }))

function jwtSettings(jwksUrl: string) {
  return { JWT_ISSUER: issuer.url, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: jwksUrl }
}

const claims = (more: object = {}) => ({
  org: app.tenant.organizationId,
  workspace: app.tenant.workspaceId,
  role: 'deployer',
  ...more,
})
const bearer = (token: string, tenant?: string): Call => ({
  key: null,
  tenant,
  headers: { authorization: `Bearer ${token}` },
})
const list = (token: string, tenant?: string) => app.rest('GET', '/v2/deployments', bearer(token, tenant))

describe('a token of the issuer', () => {
  test('identifies the person, the workspace and the role', async () => {
    const token = await issuer.token(claims())
    const answer = await app.rest('POST', '/v2/deployments', { ...bearer(token), body: imageBody() })
    expect(answer.status).toBe(201)
    expect(answer.body.tenant_id).toBe(app.tenant.workspaceId)
    const row = await app.app.core.db.deployment.findUniqueOrThrow({ where: { id: answer.body.id } })
    expect(row.createdBy).toBe('ci-client')
  })

  test('has the rights of its role', async () => {
    const viewer = bearer(await issuer.token(claims({ role: 'viewer', sub: '€'.repeat(256) })))
    expect((await app.rest('GET', '/v2/deployments', viewer)).status).toBe(200)
    expect((await app.rest('POST', '/v2/deployments', { ...viewer, body: imageBody() })).status).toBe(403)
    const made = await imageDeployment(app, { secrets: [{ name: 'TOKEN', value: 's3cret-value' }] })
    const seenBy = async (role: string) => {
      const call = bearer(await issuer.token(claims({ role })))
      return (await app.rest('GET', `/v2/deployments/${made.id}`, call)).body.secrets[0].value
    }
    expect(await seenBy('admin')).toBe('s3cret-value')
    expect(await seenBy('deployer')).toBe('••••••••')
  })

  test('must match the tenant that is sent', async () => {
    const token = await issuer.token(claims())
    expect((await list(token, app.tenant.workspaceId)).status).toBe(200)
    expect((await list(token, app.sibling.workspaceId)).status).toBe(403)
    expect((await list(token, 'nonsense')).status).toBe(422)
  })

  test('without a workspace needs a tenant of its organization', async () => {
    const token = await issuer.token(claims({ workspace: undefined }))
    const answer = await list(token)
    expect(answer.status).toBe(403)
    expect(answer.body.code).toBe('TENANT_REQUIRED')
    expect((await list(token, app.sibling.workspaceId)).status).toBe(200)
    expect((await list(token, app.other.workspaceId)).status).toBe(403)
    expect((await list(token, randomUUID())).status).toBe(403)
  })

  test('that names a workspace of another organization is a 403', async () => {
    expect((await list(await issuer.token(claims({ workspace: app.other.workspaceId })))).status).toBe(403)
  })

  test('costs no statement after its organization is cached', async () => {
    const token = await issuer.token(claims())
    await list(token)
    const statements = await countStatements(app.app.database, () => list(token))
    expect(statements.filter((sql) => /organizations|api_keys/.test(sql))).toEqual([])
  })
})

describe('a token is a 401', () => {
  test('without required claims, and the message names them', async () => {
    const wrong = { org: 'acme', workspace: 'main', role: 'owner' }
    for (const [claim, value] of Object.entries(wrong)) {
      const answer = await list(await issuer.token(claims({ [claim]: value })))
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /)
      expect(answer.body.detail).toContain(`: ${claim}.`)
    }
  })

  test.each([
    ['with NUL', 'a\0b'],
    ['with half of a surrogate pair', 'a\ud800b'],
    ['with a line break', 'a\nforged'],
    ['of nothing', ''],
    ['of 257 characters', 'x'.repeat(257)],
  ])('with a sub %s', async (_, sub) => {
    const token = await issuer.token(claims({ sub }))
    for (const call of [
      () => list(token),
      () => app.rest('POST', '/v2/deployments', { ...bearer(token), body: imageBody() }),
      () => app.rest('GET', '/v2/auth/tokens', bearer(token)),
    ]) {
      const answer = await call()
      expect(answer.status).toBe(401)
      expect(answer.body.detail).toContain(': sub.')
    }
  })

  test.each<[string, () => Promise<string>]>([
    ...['listener', 'agent', 'builder'].map((role): [string, () => Promise<string>] => [
      `with the role ${role}`,
      () => issuer.token(claims({ role })),
    ]),
    ['of an organization that does not exist on this server', () => issuer.token(claims({ org: randomUUID() }))],
    ['for another audience', () => issuer.token(claims(), { audience: 'urn:somebody:else' })],
    [
      'with a modified payload',
      async () => {
        const [header, payload, signature] = (await issuer.token(claims({ role: 'viewer' }))).split('.')
        const forged = { ...JSON.parse(Buffer.from(payload!, 'base64url').toString()), role: 'admin' }
        return [header, encoded(forged), signature].join('.')
      },
    ],
    ...['the issuer’s', 'another'].map((kid): [string, () => Promise<string>] => [
      `that another key signed, under ${kid} key id`,
      async () => {
        const { privateKey } = await generateKeyPair('ES256')
        return sign({ alg: 'ES256', kid: kid === 'another' ? kid : issuer.keyId }, privateKey)
      },
    ]),
    [
      // a known attack
      'with the public key as the secret of an HMAC',
      async () => {
        const secret = new TextEncoder().encode(await (await fetch(issuer.jwksUrl)).text())
        return sign({ alg: 'HS256', kid: issuer.keyId }, secret)
      },
    ],
    [
      'without a signature',
      async () => {
        const payload = { ...claims(), iss: issuer.url, aud: AUDIENCE, sub: 'x', exp: 9_999_999_999 }
        return `${encoded({ alg: 'none' })}.${encoded(payload)}.`
      },
    ],
  ])('%s', async (_what, token) => {
    expect((await list(await token())).status).toBe(401)
  })
})

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

type SigningKey = Parameters<SignJWT['sign']>[0]

function sign(header: JWTHeaderParameters, key: SigningKey, expires: string | number | null = '10m'): Promise<string> {
  const jwt = new SignJWT(claims()).setProtectedHeader(header).setSubject('x').setIssuer(issuer.url)
  jwt.setAudience(AUDIENCE).setIssuedAt()
  if (expires !== null) jwt.setExpirationTime(expires)
  return jwt.sign(key)
}

describe('the issuer’s keys', () => {
  /** A server that trusts the test's JWKS, so that the test can sign any token. */
  async function withOwnKeys<T>(work: (own: { app: TestApp; key: SigningKey; kill(): void; revive(): void }) => T) {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'own', alg: 'ES256' }] }
    let broken = false
    const web = await startWebServer()
    web.answer('/jwks', () => (broken ? { status: 500, body: 'down' } : { body: jwks }))
    const beside = await testApp({ beside: app, settings: jwtSettings(`${web.origin}/jwks`) })
    try {
      return await work({
        app: beside,
        key: privateKey,
        kill: () => {
          broken = true
        },
        revive: () => {
          broken = false
        },
      })
    } finally {
      await beside.close()
      await web.close()
    }
  }

  test('that can’t be fetched are a 503, not a 401, and are fetched again later', () =>
    withOwnKeys(async ({ app: beside, key, kill, revive }) => {
      const token = await sign({ alg: 'ES256', kid: 'own' }, key)
      kill()
      const answer = await beside.rest('GET', '/v2/deployments', bearer(token))
      expect(answer.status).toBe(503)
      expect(answer.body.code).toBe('UNAVAILABLE')
      // API keys don't depend on the issuer
      expect((await beside.rest('GET', '/v2/deployments')).status).toBe(200)
      revive()
      expect((await beside.rest('GET', '/v2/deployments', bearer(token))).status).toBe(200)
      kill()
      expect((await beside.rest('GET', '/v2/deployments', bearer(token))).status).toBe(200)
    }))

  test('don’t make an expired token valid, nor one without expiry', () =>
    withOwnKeys(async ({ app: beside, key }) => {
      const header = { alg: 'ES256', kid: 'own' }
      for (const expires of [Math.floor(Date.now() / 1000) - 60, null]) {
        const answer = await beside.rest('GET', '/v2/deployments', bearer(await sign(header, key, expires)))
        expect(answer.status).toBe(401)
      }
    }))
})
