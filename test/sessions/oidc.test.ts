/** The organization's login from the button to the session, with a browser and a real provider (docs/api-rules.md#sessions). */
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestApp, testApp } from '../support/app.ts'
import { freePort } from '../support/free-port.ts'
import { type OAuthServer, startOAuthServer } from '../support/oauth-server.ts'
import { asPage, signIn } from './support.ts'

/** The provider's claims by person, set by each test. */
const people: Record<string, Record<string, unknown>> = { alice: { org: null, workspace: null, role: null } }
const BEGIN = '/v2/sessions/oidc'

let provider: OAuthServer
let app: TestApp
let settings: Record<string, string>
beforeAll(async () => {
  provider = await startOAuthServer({ claims: people })
  const port = await freePort()
  const redirectUri = `http://127.0.0.1:${port}${BEGIN}/callback`
  const client = await provider.client({ method: 'client_secret_basic', redirectUri, requirePkce: true })
  settings = { OIDC_ISSUER: provider.url, OIDC_CLIENT_ID: client.clientId, OIDC_CLIENT_SECRET: client.clientSecret! }
  app = await testApp({ settings: { ...settings, PORT: String(port), OIDC_NAME: 'Acme' } })
})
afterAll(async () => {
  await app.close()
  await provider.close()
})
beforeEach(() => claim({}))

const claim = (more: object) => {
  const { organizationId: org, workspaceId: workspace } = app.tenant
  people.alice = { org, workspace, role: 'deployer', ...more }
}

/** The address that the server listens on, independent of PUBLIC_URL. */
const addressOf = ({ app: { fastify } }: TestApp) =>
  `http://127.0.0.1:${(fastify.server.address() as AddressInfo).port}`

const methodsOf = async (at: TestApp) => (await fetch(`${addressOf(at)}/v2/sessions/methods`)).json()

/** A minimal browser: it stores cookies and follows no redirects. */
class Jar {
  readonly cookies = new Map<string, string>()
  /** attributes of the most recently set cookies */
  attributes: string[] = []
  /** of the server */
  at: string
  constructor(at: TestApp = app) {
    this.at = addressOf(at)
  }

  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  async open(
    url: string,
    more: Record<string, string> = {},
  ): Promise<{ status: number; location: URL; headers: Headers }> {
    const target = new URL(url, this.at)
    const answer = await fetch(target, { redirect: 'manual', headers: { cookie: this.cookie, ...more } })
    this.attributes = answer.headers.getSetCookie()
    for (const line of this.attributes) {
      const [name = '', value = ''] = line.split(';')[0]!.split('=')
      if (/Max-Age=0(;|$)/.test(line)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return { status: answer.status, location: new URL(answer.headers.get('location')!), headers: answer.headers }
  }

  /** Visits the provider and returns. Yields the fragment of the page's URL. */
  async login(how: Parameters<OAuthServer['visit']>[1] = {}): Promise<Record<string, string>> {
    return fragment(await this.open(await provider.visit((await this.open(BEGIN)).location.href, how)))
  }
}

function fragment({ location }: { location: URL }): Record<string, string> {
  expect(location.origin + location.pathname).toBe(`${app.url}/sign-in`)
  expect(location.search).toBe('')
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
}

async function whoIs(jar: Jar, code: string) {
  const browser = await signIn(app, { code }, { cookie: jar.cookie, 'sec-fetch-site': 'same-origin' })
  return { browser, session: await app.rest('GET', `/v2/sessions`, asPage(browser)) }
}

describe('a person of the provider', () => {
  test('is signed in with the subject and role of the claims', async () => {
    const jar = new Jar()
    const { code, error } = await jar.login()
    expect(error).toBeUndefined()
    const { browser, session } = await whoIs(jar, code!)
    const [own] = session.body.resources
    expect(own).toMatchObject({ role: 'deployer', workspace_id: app.tenant.workspaceId, api_key_id: null })
    expect(own.actor).toMatchObject({ kind: 'person', id: 'alice', name: 'alice' })
    const { data } = await app.gql('{ apiKeys(first: 1) { edges { node { id } } } }', {}, asPage(browser))
    // a deployer sees only the keys that it approved
    expect(data?.apiKeys).toEqual({ edges: [] })
  })

  test('has a session of twelve hours, even if sessions of keys are longer', async () => {
    const jar = new Jar()
    const { browser } = await whoIs(jar, (await jar.login()).code!)
    const { expiresAt, openedAt } = await app.app.core.db.session.findUniqueOrThrow({ where: { id: browser.id } })
    expect((expiresAt.getTime() - openedAt!.getTime()) / 3_600_000).toBeCloseTo(12, 1)
  })

  test('keeps the rights of the claims until the next login', async () => {
    const jar = new Jar()
    const before = await whoIs(jar, (await jar.login()).code!)
    claim({ role: 'viewer', workspace: undefined })
    const again = await whoIs(jar, (await jar.login()).code!)
    const roles = async ({ browser }: typeof before, tenant?: string) =>
      (await app.rest('GET', '/v2/sessions', { ...asPage(browser), ...(tenant && { tenant }) })).body.resources?.find(
        ({ current }: { current: boolean }) => current,
      ).role
    expect(await roles(before)).toBe('deployer')
    expect(await roles(again, app.tenant.workspaceId)).toBe('viewer')
    expect(await roles(again, app.sibling.workspaceId)).toBe('viewer')
  })

  test('can sign in in several tabs concurrently', async () => {
    const jar = new Jar()
    const urls = [(await jar.open(BEGIN)).location.href, (await jar.open(BEGIN)).location.href]
    const answers = await Promise.all(urls.map((url) => provider.visit(url)))
    const codes = [fragment(await jar.open(answers[1]!)).code!, fragment(await jar.open(answers[0]!)).code!]
    for (const code of codes) await whoIs(jar, code)
  })

  test('returns to the page with a code that works once, in that browser only', async () => {
    const jar = new Jar()
    const { code } = await jar.login()
    await expect(signIn(app, { code: code! })).rejects.toThrow('401')
    await expect(signIn(app, { code: code! }, { cookie: new Jar().cookie })).rejects.toThrow('401')
    await whoIs(jar, code!)
    await expect(whoIs(jar, code!)).rejects.toThrow('401')
  })

  test('is signed in despite cookies of the same names from another port', async () => {
    const jar = new Jar()
    const begun = await jar.open(BEGIN)
    const [name] = [...jar.cookies.keys()]
    const planted = `${name}=planted; ${name!.replace(/_login_.*/, '_code')}=planted; `
    const back = await jar.open(await provider.visit(begun.location.href), { cookie: planted + jar.cookie })
    await signIn(app, { code: fragment(back).code! }, { cookie: planted + jar.cookie, 'sec-fetch-site': 'same-origin' })
  })

  test('is redirected once to PUBLIC_URL when they use another host name', async () => {
    const { port } = new URL(app.url)
    const elsewhere = await new Jar().open(`http://localhost:${port}${BEGIN}`)
    expect(elsewhere.location.href).toBe(`${app.url}${BEGIN}?sent`)
    const { location } = await new Jar().open(`http://localhost:${port}${BEGIN}?sent`)
    expect(location.origin).toBe(provider.url)
  })
})

describe('the login cookie', () => {
  test('is sent only to the callback, for ten minutes, and reveals nothing', async () => {
    const jar = new Jar()
    const { status, location, headers } = await jar.open(BEGIN)
    expect(status).toBe(303)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(jar.attributes).toHaveLength(1)
    expect(jar.attributes[0]).toMatch(/^pilothouse_[\w-]+=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/)
    const { state, nonce } = Object.fromEntries(location.searchParams)
    for (const told of [state, nonce]) expect(Buffer.from(jar.cookie, 'base64').toString('latin1')).not.toContain(told)
  })

  test('is deleted at the end of the login, whether it succeeds or fails', async () => {
    const jar = new Jar()
    expect(await jar.login({ decline: true })).toMatchObject({ error: 'denied' })
    expect(jar.cookies.size).toBe(0)
  })

  test('does not accumulate', async () => {
    const jar = new Jar()
    for (let i = 0; i < 12; i++) await jar.open(BEGIN)
    expect(jar.cookies.size).toBeLessThanOrEqual(5)
  })

  test('is sent only over https if PUBLIC_URL is https', async () => {
    const secure = await testApp({ beside: app, settings: { ...settings, PUBLIC_URL: 'https://pilot.example.com' } })
    const { headers } = await secure.app.fastify.inject({ url: BEGIN, headers: { host: 'pilot.example.com' } })
    expect(headers['set-cookie']).toMatch(/^__Host-pilothouse_.*; SameSite=Lax; .*; Secure$/)
    const asked = new URL(String(headers.location)).searchParams
    expect(asked.get('redirect_uri')).toMatch(/^https:\/\/pilot\.example\.com\//)
    // a cookie of the bare name could come from another host of the domain
    const set = String(headers['set-cookie']).split(';')[0]!
    const back = async (cookie: string) => {
      const url = `${BEGIN}/callback?${new URLSearchParams({ state: asked.get('state')!, error: 'access_denied', iss: provider.url })}`
      const answer = await secure.app.fastify.inject({ url, headers: { host: 'pilot.example.com', cookie } })
      return new URLSearchParams(new URL(String(answer.headers.location)).hash.slice(1)).get('error')
    }
    expect(await back(set.replace('__Host-', ''))).toBe('state_mismatch')
    expect(await back(set)).toBe('denied')
    await secure.close()
  })
})

describe('a login fails, and the page says why', () => {
  test('when the person declines or is declined at the provider', async () => {
    const told = await new Jar().login({ decline: true })
    expect(told).toEqual({ error: 'denied', request_id: expect.any(String) })
  })

  test('with the callback of another browser’s login', async () => {
    const url = await provider.visit((await new Jar().open(BEGIN)).location.href)
    expect(fragment(await new Jar().open(url)).error).toBe('state_mismatch')
    const other = new Jar()
    await other.open(BEGIN)
    expect(fragment(await other.open(url)).error).toBe('state_mismatch')
    const [stolen] = [...other.cookies.values()]
    const name = [...other.cookies.keys()][0]!.replace(
      /_[^_]*$/,
      `_${new URL(url).searchParams.get('state')!.slice(0, 8)}`,
    )
    expect(fragment(await new Jar().open(url, { cookie: `${name}=${stolen}` })).error).toBe('state_mismatch')
  })

  test.each(['', '?state=', '?state=x&code=y', '?code=y', '?error=access_denied', '?state=x.zzzzzzzzzzzzzzzz'])(
    'with a forged callback: %j',
    async (query) => {
      expect(['state_mismatch', 'expired']).toContain(fragment(await new Jar().open(`${BEGIN}/callback${query}`)).error)
    },
  )

  test('after more than ten minutes, with or without the cookie', async () => {
    let ahead = 0
    const clock = () => new Date(Date.now() + ahead)
    const late = await testApp({ beside: app, settings: { ...settings, PUBLIC_URL: app.url }, overrides: { clock } })
    const jar = new Jar(late)
    const answer = await provider.visit((await jar.open(`${BEGIN}?sent`)).location.href)
    const back = answer.replace(app.url, addressOf(late))
    ahead = 600_001
    expect(fragment(await new Jar(late).open(back)).error).toBe('expired')
    expect(fragment(await jar.open(back)).error).toBe('expired')
    await late.close()
  })

  test.each([
    ['without a role', { role: undefined }],
    ['with an unknown role', { role: 'owner' }],
    ['with the role of a machine', { role: 'listener' }],
    ['of an organization that does not exist', { org: '00000000-0000-4000-8000-000000000000' }],
    ['with an invalid organization id', { org: 'acme' }],
    ['of a workspace that does not exist', { workspace: '00000000-0000-4000-8000-000000000000' }],
  ])('%s', async (_, wrong) => {
    claim(wrong)
    expect((await new Jar().login()).error).toBe('no_access')
  })

  test('and the log shows the operator what is missing, without personal data', async () => {
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) })
    const told = await testApp({ beside: app, settings: { ...settings, PUBLIC_URL: app.url }, overrides: { log } })
    claim({ role: 'owner' })
    const jar = new Jar(told)
    const answer = await provider.visit((await jar.open(`${BEGIN}?sent`)).location.href)
    const { request_id } = fragment(await jar.open(answer.replace(app.url, addressOf(told))))
    expect(JSON.parse(lines.find((line) => line.includes('OIDC_ISSUER'))!)).toMatchObject({
      wrong: { claims: ['role'] },
      word: 'no_access',
      requestId: request_id,
    })
    const secrets = [...new URL(answer).searchParams.values(), 'alice', 'owner']
    for (const secret of secrets.filter((value) => value !== provider.url)) expect(lines.join()).not.toContain(secret)
    await told.close()
  })

  test('for a workspace of another organization', async () => {
    claim({ workspace: app.other.workspaceId })
    expect((await new Jar().login()).error).toBe('no_access')
  })

  test('for a second use of a callback', async () => {
    const jar = new Jar()
    const { location } = await jar.open(BEGIN)
    const kept = new Map(jar.cookies)
    const answer = await provider.visit(location.href)
    expect(fragment(await jar.open(answer)).code).toBeDefined()
    expect(fragment(await jar.open(answer)).error).toBe('state_mismatch')
    for (const [name, value] of kept) jar.cookies.set(name, value)
    expect(fragment(await jar.open(answer)).error).toBe('failed')
  })

  test('while the provider fails or sends an unusable response', async () => {
    provider.next('500')
    expect((await new Jar().login()).error).toBe('unavailable')
    provider.next('html')
    expect((await new Jar().login()).error).toBe('failed')
    expect((await new Jar().login()).code).toBeDefined()
  })
})

describe('a server', () => {
  test('publishes the name of its login', async () => {
    const { body } = await app.rest('GET', '/v2/sessions/methods', { key: null })
    expect(body).toEqual({ api_key: true, oidc: { name: 'Acme' } })
  })

  test('without a login says so and redirects to the page', async () => {
    const without = await testApp({ beside: app, settings: { PUBLIC_URL: app.url } })
    expect(await methodsOf(without)).toEqual({ api_key: true, oidc: null })
    const jar = new Jar(without)
    expect(fragment(await jar.open(`${BEGIN}?sent`)).error).toBe('not_configured')
    expect(fragment(await jar.open(`${BEGIN}/callback?state=x`)).error).toBe('not_configured')
    await without.close()
  })

  test('starts without its provider, and a login then fails with the reason', async () => {
    const port = await freePort()
    const OIDC_ISSUER = `http://127.0.0.1:${port}`
    const alone = await testApp({ beside: app, settings: { ...settings, OIDC_ISSUER, PUBLIC_URL: app.url } })
    expect(await methodsOf(alone)).toEqual({ api_key: true, oidc: { name: `127.0.0.1:${port}` } })
    expect(fragment(await new Jar(alone).open(`${BEGIN}?sent`)).error).toBe('unavailable')
    expect((await fetch(`${addressOf(alone)}/readyz`)).status).toBe(200)
    await alone.close()
  })

  test('answers a HEAD without consuming the login', async () => {
    const { status } = await app.rest('HEAD', BEGIN, { key: null })
    expect(status).toBe(405)
  })
})
