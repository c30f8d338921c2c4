/** JWTs as Bearer (docs/api-rules.md#who-is-calling), from a real local provider and from forgers. */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  jwtVerify,
  SignJWT,
} from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Call, type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { imageBody, imageDeployment } from '../support/factories.ts'
import { AUDIENCE, type Issuer, startIssuer } from '../support/issuer.ts'

let issuer: Issuer
let app: TestApp
beforeAll(async () => {
  issuer = await startIssuer()
  app = await testApp({ settings: jwtSettings(issuer.jwksUrl) })
})
afterAll(async () => {
  await app.close()
  await issuer.close()
})

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

  test('may have a sub of 256 characters', async () => {
    const token = await issuer.token(claims({ sub: '€'.repeat(256) }))
    const answer = await app.rest('POST', '/v2/deployments', { ...bearer(token), body: imageBody() })
    expect(answer.status).toBe(201)
  })

  test('of a viewer does not write', async () => {
    const token = await issuer.token(claims({ role: 'viewer' }))
    expect((await list(token)).status).toBe(200)
    const answer = await app.rest('POST', '/v2/deployments', { ...bearer(token), body: imageBody() })
    expect(answer.status).toBe(403)
  })

  test('reads the values of secrets only as an admin', async () => {
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

  test('with a role that belongs to a listener, an agent or a builder', async () => {
    for (const role of ['listener', 'agent', 'builder'])
      expect((await list(await issuer.token(claims({ role })))).status).toBe(401)
  })

  test('of an organization that does not exist on this server', async () => {
    expect((await list(await issuer.token(claims({ org: randomUUID() })))).status).toBe(401)
  })

  test('for another audience', async () => {
    expect((await list(await issuer.token(claims(), { audience: 'urn:somebody:else' }))).status).toBe(401)
  })

  test('with a modified signature', async () => {
    const token = await issuer.token(claims({ role: 'viewer' }))
    const [header, payload, signature] = token.split('.') as [string, string, string]
    const forged = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), role: 'admin' }
    const other = Buffer.from(JSON.stringify(forged)).toString('base64url')
    expect((await list([header, other, signature].join('.'))).status).toBe(401)
  })

  test('that another key signed, under any key id', async () => {
    const { privateKey } = await generateKeyPair('ES256')
    for (const kid of [issuer.keyId, 'another']) {
      expect((await list(await sign({ alg: 'ES256', kid }, privateKey))).status).toBe(401)
    }
  })

  test('signed with a shared secret or not at all', async () => {
    // a known attack: the public key as the secret of an HMAC
    const published = await (await fetch(issuer.jwksUrl)).text()
    const secret = new TextEncoder().encode(published)
    expect((await list(await sign({ alg: 'HS256', kid: issuer.keyId }, secret))).status).toBe(401)
    const none = [{ alg: 'none' }, { ...claims(), iss: issuer.url, aud: AUDIENCE, sub: 'x', exp: 9_999_999_999 }]
    const unsigned = none.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    expect((await list(`${unsigned}.`)).status).toBe(401)
  })
})

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
    const server = createServer((_request, response) => {
      response.statusCode = broken ? 500 : 200
      response.end(broken ? 'down' : JSON.stringify(jwks))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const beside = await testApp({ beside: app, settings: jwtSettings(`http://127.0.0.1:${port}/jwks`) })
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
      server.closeAllConnections()
      server.close()
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

test('a token of the local provider has the expected claims', async () => {
  const keys = createLocalJWKSet((await (await fetch(issuer.jwksUrl)).json()) as JSONWebKeySet)
  const { payload } = await jwtVerify(await issuer.token(claims()), keys)
  expect(payload).toMatchObject({ iss: issuer.url, aud: AUDIENCE, sub: 'ci-client', ...claims() })
})
