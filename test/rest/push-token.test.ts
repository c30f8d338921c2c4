/** Push tokens, the realm that accepts them, and pull credentials. */
import { rmSync } from 'node:fs'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSourceAccess } from '../../src/app/source-access.ts'
import { registrySettings } from '../registry/support.ts'
import { bodies, restApp, useRestApp } from './support.ts'

const HOST = 'registry.example.com:5000'
const { folder, ...settings } = registrySettings(`https://${HOST}`)
const app = useRestApp(() => ({ settings }))
// biome-ignore lint/suspicious/noExplicitAny: a checked answer
let deployment: any
let repository: string
beforeAll(async () => {
  deployment = await app.create()
  repository = `${app.tenant.workspaceId}/${deployment.id}`
})
afterAll(() => rmSync(folder, { recursive: true }))

const ask = (id = deployment.id, key = app.keys.deployer) =>
  app.call('POST', `/v2/deployments/${id}/push-token`, { key })
const accessOf = (token: string) => decodeJwt(token).access
const below = (name: string, ...actions: string[]) => [{ type: 'repository', name: repository + name, actions }]
const granted = (...actions: string[]) => below('', ...actions)

describe('A push token', () => {
  test('allows a deployer to push to the repository of the deployment for 15 minutes', async () => {
    const { status, body } = await ask()
    expect(status).toBe(200)
    expect(body.registry_url).toBe(`${HOST}/${repository}`)
    expect(accessOf(body.token)).toEqual(granted('pull', 'push'))
    const { exp, iat, aud } = decodeJwt(body.token)
    expect([exp! - iat!, aud]).toEqual([900, HOST])
  })

  test('needs a registry, and the refusal names the settings', async () => {
    const bare = await restApp({ beside: app })
    const answer = await bare.call('POST', `/v2/deployments/${deployment.id}/push-token`)
    expect(answer.status).toBe(409)
    expect(answer.body.detail).toContain('REGISTRY_URL, REGISTRY_TOKEN_KEY and REGISTRY_TOKEN_CERTIFICATE')
    expect((await bare.rest('GET', '/v1/registry/token', { key: null })).status).toBe(404)
    await bare.close()
  })
})

describe('The realm', () => {
  const realm = (password: string | null, query = '', user = 'token') => {
    const credentials = Buffer.from(`${user}:${password}`).toString('base64')
    const headers: Record<string, string> = password === null ? {} : { authorization: `Basic ${credentials}` }
    return app.rest('GET', `/v1/registry/token?service=${HOST}&account=token${query}`, { key: null, headers })
  }
  const scope = (name: string, actions: string) => `&scope=${encodeURIComponent(`repository:${name}:${actions}`)}`
  let token: string
  beforeAll(async () => {
    token = (await ask()).body.token
  })

  test.each<[string, () => string, () => unknown]>([
    ['nothing', () => '', () => []],
    ['to push and pull', () => scope(repository, 'push,pull'), () => granted('pull', 'push')],
    ['to pull', () => scope(repository, 'pull'), () => granted('pull')],
    ['everything', () => scope(repository, '*'), () => []],
    ['to delete, too', () => scope(repository, 'delete,push'), () => granted('push')],
    ['another repository', () => scope('someone/else', 'pull,push'), () => []],
    ['another one, too', () => scope('a/b', 'pull') + scope(repository, 'pull'), () => granted('pull')],
    ['both in one', () => `&scope=repository:a:pull+repository:${repository}:pull`, () => granted('pull')],
    ['a repository below', () => scope(`${repository}/agent`, 'push,pull'), () => below('/agent', 'pull', 'push')],
    ['one far below', () => scope(`${repository}/a/b-c/d`, 'pull'), () => below('/a/b-c/d', 'pull')],
    [
      'two of them',
      () => scope(`${repository}/a`, 'pull') + scope(repository, 'push') + scope(`${repository}/a`, 'push'),
      () => [...below('/a', 'pull', 'push'), ...granted('push')],
    ],
    ['a sibling that begins alike', () => scope(`${repository}-x`, 'pull,push'), () => []],
    ['one below such a sibling', () => scope(`${repository}x/agent`, 'pull,push'), () => []],
    ['the one above', () => scope(repository.split('/')[0]!, 'pull,push'), () => []],
    ['a way out', () => scope(`${repository}/../other`, 'pull,push'), () => []],
    ['no name below', () => scope(`${repository}/`, 'pull,push'), () => []],
    ['the catalogue', () => '&scope=registry:catalog:*', () => []],
    ['nonsense', () => '&scope=x&scope=', () => []],
  ])('answers a request for %s with the rights of the push token', async (_what, query, expected) => {
    const { status, headers, body, text } = await realm(token, query())
    expect(status, text).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      token: body.access_token,
      access_token: expect.any(String),
      expires_in: expect.any(Number),
      issued_at: expect.any(String),
    })
    expect(accessOf(body.token)).toEqual(expected())
    expect(decodeJwt(body.token).exp).toBeLessThanOrEqual(decodeJwt(token).exp!)
  })

  test('accepts any user name', async () => {
    expect((await realm(token, '', 'someone')).status).toBe(200)
  })

  test('extends no right of a token that it issued itself', async () => {
    const pull = (await realm(token, scope(repository, 'pull'))).body.token
    expect(accessOf((await realm(pull, scope(repository, 'pull,push'))).body.token)).toEqual(granted('pull'))
  })

  test('refuses everything except push tokens', async () => {
    const expired = await app.core.registry!.sign('me', [{ repository, actions: ['push'] }], -5)
    for (const password of [null, '', 'wrong', app.keys.admin, expired]) {
      const { status, headers, body } = await realm(password, scope(repository, 'push'))
      expect(status).toBe(401)
      expect(headers.get('www-authenticate')).toMatch(/^Basic /)
      expect(body).toMatchObject({ code: 'UNAUTHENTICATED', request_id: headers.get('x-request-id') })
    }
    const bearer = { authorization: `Bearer ${token}` }
    expect((await app.rest('GET', '/v1/registry/token', { key: null, headers: bearer })).status).toBe(401)
  })
})

describe('The pull credentials of an image', () => {
  const credentials = (id: string, uri: string) =>
    createSourceAccess(app.core).imageCredentials(id, uri, new AbortController().signal)

  test.each(['', '/agent'])('allow pulls of its repository%s, nothing more', async (name) => {
    const found = await credentials(deployment.id, `${HOST}/${repository}${name}:1`)
    expect(found?.username).toBe('token')
    expect(accessOf(found!.password)).toEqual(below(name, 'pull'))
  })

  test('are issued for no other image and no other deployment', async () => {
    const other = await app.create()
    const external = await app.create(bodies.external_container())
    expect(await credentials(other.id, `${HOST}/${repository}:1`)).toBeNull()
    expect(await credentials(external.id, `${HOST}/${app.tenant.workspaceId}/${external.id}:1`)).toBeNull()
    expect(await credentials(deployment.id, `${HOST}/${repository}-x:1`)).toBeNull()
    expect(await credentials(deployment.id, `elsewhere.example.com/${repository}:1`)).toBeNull()
    expect(await credentials(deployment.id, 'not an image')).toBeNull()
  })
})

test('an invalid image is refused with the reason', async () => {
  const body = { source_revision_config: { image_uri: 'https://registry.example.com/agent' } }
  const { status, body: answer } = await app.call('PATCH', `/v2/deployments/${deployment.id}`, { body })
  expect(status).toBe(422)
  expect(answer.detail[0].msg).toBe('Must be without a scheme: registry/repository:tag.')
})
