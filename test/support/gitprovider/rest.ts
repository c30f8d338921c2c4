/** The REST API of the stand-in: the calls of our client, with the real provider's refusals. */
import { randomBytes } from 'node:crypto'
import { jwtVerify } from 'jose'
import { branchHead, hasCommit } from './git.ts'
import * as shapes from './shapes.ts'
import { type FakeRepository, type FakeToken, newId, type World } from './world.ts'

export interface Answer {
  status: number
  body?: unknown
  headers?: Record<string, string>
}

export interface Asked {
  method: string
  /** Path below the API's URL. */
  path: string
  query: URLSearchParams
  authorization: string | undefined
  body: Record<string, unknown>
}

type Handler = (world: World, asked: Asked, found: string[]) => Promise<Answer>

const refused = (status: number, message: string): Answer => ({
  status,
  body: { message, documentation_url: 'https://docs.example/rest', status: String(status) },
})
const NOT_FOUND = refused(404, 'Not Found')

const ROUTES: [string, RegExp, Handler][] = [
  ['GET', /^\/app$/, asApp(getApp)],
  ['GET', /^\/app\/installations\/(\d+)$/, asApp(getInstallation)],
  ['POST', /^\/app\/installations\/(\d+)\/access_tokens$/, asApp(createToken)],
  ['GET', /^\/installation\/repositories$/, asInstallation(listRepositories)],
  ['GET', /^\/repos\/([^/]+)\/([^/]+)$/, asInstallation(getRepository)],
  ['GET', /^\/repos\/([^/]+)\/([^/]+)\/git\/ref\/heads(?:\/|%2F)(.+)$/i, asInstallation(getRef)],
  ['GET', /^\/repos\/([^/]+)\/([^/]+)\/branches\/(.+)$/, asInstallation(getBranch)],
  ['POST', /^\/repos\/([^/]+)\/([^/]+)\/statuses\/([^/]+)$/, asInstallation(createStatus)],
  ['GET', /^\/user\/installations$/, listUserInstallations],
]

export async function answer(world: World, { path, ...others }: Asked): Promise<Answer> {
  const [, name = '', rest = ''] = /^\/repos\/([^/]+\/[^/]+)(.*)$/.exec(path) ?? []
  const renamed = world.repositories.has(name) ? undefined : world.renamed.get(name)
  if (renamed) {
    const location = `${world.apiUrl}/repositories/${renamed.id}${rest}`
    const status = others.method === 'GET' ? 301 : 307
    return { status, body: { message: 'Moved Permanently', url: location }, headers: { location } }
  }
  const asked = { ...others, path: path.replace(/^\/repositories\/(\d+)/, (_, id) => `/repos/${nameOf(world, id)}`) }
  for (const [method, pattern, handler] of ROUTES) {
    const found = asked.method === method && pattern.exec(asked.path)
    if (found) return await handler(world, asked, found.slice(1).map(decodeURIComponent))
  }
  return NOT_FOUND
}

function nameOf(world: World, id: string): string | undefined {
  return [...world.repositories.values()].find((repo) => repo.id === Number(id))?.fullName
}

function asApp(handler: Handler): Handler {
  return async (world, asked, found) => {
    const token = /^bearer (.+)$/i.exec(asked.authorization ?? '')?.[1] ?? ''
    const claims = await jwtVerify(token, world.publicKey, { algorithms: ['RS256'] }).then(
      ({ payload }) => payload,
      () => null,
    )
    if (!claims) return refused(401, 'A JSON web token could not be decoded')
    if (String(claims.iss) !== String(world.appId)) return refused(401, "'Issuer' claim ('iss') must be an Integer")
    const now = Date.now() / 1000
    if (!claims.iat || claims.iat > now + 5) return refused(401, "'Issued at' claim ('iat') must be in the past")
    if (!claims.exp || claims.exp > now + 600) return refused(401, "'Expiration time' claim ('exp') is too far off")
    return await handler(world, asked, found)
  }
}

function tokenOf(world: World, asked: Asked): FakeToken | null {
  const token = world.tokens.get(/^(?:token|bearer) (.+)$/i.exec(asked.authorization ?? '')?.[1] ?? '')
  return token && token.expiresAt > new Date() && world.installations.has(token.installation.id) ? token : null
}

function asInstallation(handler: Handler): Handler {
  return async (world, asked, found) => {
    if (!tokenOf(world, asked)) return refused(401, 'Bad credentials')
    const limits = { 'x-ratelimit-limit': '5000', 'x-ratelimit-resource': 'core' }
    if (world.secondary !== null) {
      const wait = String(world.secondary)
      world.secondary = null
      const body = refused(403, 'You have exceeded a secondary rate limit. Please wait a few minutes.')
      return { ...body, headers: { ...limits, 'retry-after': wait } }
    }
    const reset = String(Math.ceil(world.resetAt.getTime() / 1000))
    if (world.remaining === 0) {
      const headers = { ...limits, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset }
      return { ...refused(403, `API rate limit exceeded for installation ID ${found[0]}.`), headers }
    }
    if (world.remaining !== null) world.remaining--
    const given = await handler(world, asked, found)
    const headers = { ...limits, 'x-ratelimit-remaining': String(world.remaining ?? 4999), 'x-ratelimit-reset': reset }
    return { ...given, headers: { ...headers, ...given.headers } }
  }
}

async function getApp(world: World): Promise<Answer> {
  const body = {
    id: world.appId,
    client_id: world.clientId,
    slug: world.slug,
    name: 'Pilothouse test',
    owner: shapes.account(world, 'owner'),
    html_url: `${world.webUrl}/apps/${world.slug}`,
    permissions: { contents: 'read', metadata: 'read', statuses: 'write' },
    events: ['push'],
  }
  return { status: 200, body }
}

async function getInstallation(world: World, _asked: Asked, [id]: string[]): Promise<Answer> {
  const installed = world.installations.get(Number(id))
  return installed ? { status: 200, body: shapes.installation(world, installed) } : NOT_FOUND
}

async function createToken(world: World, asked: Asked, [id]: string[]): Promise<Answer> {
  const installed = world.installations.get(Number(id))
  if (!installed) return NOT_FOUND
  if (installed.suspended) return refused(403, 'This installation has been suspended')
  const ids = (asked.body.repository_ids as number[] | undefined) ?? null
  const reached = installed.repositories.filter((repo) => ids?.includes(repo.id))
  if (ids && reached.length < ids.length)
    return refused(422, 'There is at least one repository that does not exist or is not accessible to the parent.')
  const permissions = (asked.body.permissions as Record<string, string> | undefined) ?? { contents: 'read' }
  const token = `ghs_${randomBytes(18).toString('hex')}`
  const expiresAt = new Date(Date.now() + 3_600_000)
  world.tokens.set(token, { installation: installed, repositories: ids, permissions, expiresAt })
  const body = {
    token,
    expires_at: expiresAt.toISOString(),
    permissions,
    repository_selection: 'selected',
    ...(ids ? { repositories: reached.map((repo) => shapes.repository(world, repo)) } : {}),
  }
  return { status: 201, body }
}

/** The repositories that the token can access. */
function reachedBy({ installation, repositories }: FakeToken): FakeRepository[] {
  return installation.repositories.filter((repo) => repositories?.includes(repo.id) ?? true)
}

function paged<T>(world: World, asked: Asked, items: T[]): { items: T[]; headers: Record<string, string> } {
  const size = Math.min(100, Number(asked.query.get('per_page') ?? 30))
  const page = Number(asked.query.get('page') ?? 1)
  const last = Math.max(1, Math.ceil(items.length / size))
  const to = (number: number, rel: string) =>
    `<${world.apiUrl}${asked.path}?per_page=${size}&page=${number}>; rel="${rel}"`
  const links = [
    ...(page > 1 ? [to(page - 1, 'prev'), to(1, 'first')] : []),
    ...(page < last ? [to(page + 1, 'next'), to(last, 'last')] : []),
  ]
  const headers: Record<string, string> = links.length > 0 ? { link: links.join(', ') } : {}
  return { items: items.slice((page - 1) * size, page * size), headers }
}

async function listRepositories(world: World, asked: Asked): Promise<Answer> {
  const all = reachedBy(tokenOf(world, asked)!)
  const { items, headers } = paged(world, asked, all)
  const repositories = items.map((repo) => shapes.repository(world, repo))
  return { status: 200, headers, body: { total_count: all.length, repository_selection: 'selected', repositories } }
}

function reached(world: World, asked: Asked, [owner, name]: string[]): FakeRepository | undefined {
  return reachedBy(tokenOf(world, asked)!).find((repo) => repo.fullName === `${owner}/${name}`)
}

async function getRepository(world: World, asked: Asked, found: string[]): Promise<Answer> {
  const named = world.repositories.get(found.join('/'))
  // a public repository is readable for every caller
  const repo = named && !named.private ? named : reached(world, asked, found)
  return repo ? { status: 200, body: shapes.repository(world, repo) } : NOT_FOUND
}

async function getRef(world: World, asked: Asked, found: string[]): Promise<Answer> {
  const repo = reached(world, asked, found)
  const sha = repo && (await branchHead(repo, found[2]!))
  if (!sha) return NOT_FOUND
  const url = `${world.apiUrl}/repos/${repo.fullName}/git`
  const ref = `refs/heads/${found[2]}`
  const object = { type: 'commit', sha, url: `${url}/commits/${sha}` }
  return { status: 200, body: { ref, node_id: `REF_${sha}`, url: `${url}/${ref}`, object } }
}

async function getBranch(world: World, asked: Asked, found: string[]): Promise<Answer> {
  const repo = reached(world, asked, found)
  const sha = repo && (await branchHead(repo, found[2]!))
  if (!sha) return NOT_FOUND
  const url = `${world.apiUrl}/repos/${repo.fullName}/commits/${sha}`
  return { status: 200, body: { name: found[2], commit: { sha, url }, protected: false } }
}

async function createStatus(world: World, asked: Asked, found: string[]): Promise<Answer> {
  const repo = reached(world, asked, found)
  const sha = found[2]!
  if (!repo) return NOT_FOUND
  if (repo.archived) return refused(403, 'Repository was archived so is read-only.')
  if (!(await hasCommit(repo, sha))) return refused(422, `No commit found for SHA: ${sha}`)
  const { state, context = 'default', description = null, target_url: targetUrl = null } = asked.body
  if (!['pending', 'success', 'failure', 'error'].includes(String(state)) || String(description).length > 140)
    return refused(422, 'Validation Failed')
  const key = `${repo.fullName}@${sha}`
  const given = world.statuses.get(key) ?? []
  if (given.filter((one) => one.context === context).length >= 1000)
    return refused(422, 'Validation Failed: This SHA and context has reached the maximum number of statuses.')
  const status = { id: newId(), at: new Date(), state, context, description, targetUrl } as (typeof given)[number]
  world.statuses.set(key, [...given, status])
  return { status: 201, body: shapes.status(world, repo, sha, status) }
}

async function listUserInstallations(world: World, asked: Asked): Promise<Answer> {
  const user = world.userTokens.get(/^(?:token|bearer) (.+)$/i.exec(asked.authorization ?? '')?.[1] ?? '')
  if (!user) return refused(401, 'Bad credentials')
  const all = [...world.installations.values()].filter(({ users }) => users.includes(user))
  const { items, headers } = paged(world, asked, all)
  const installations = items.map((one) => shapes.installation(world, one))
  return { status: 200, headers, body: { total_count: all.length, installations } }
}

/** POST login/oauth/access_token, below the web URL: a wrong code is a 200 with an error in the body. */
export function exchangeCode(world: World, body: Record<string, unknown>): Answer {
  if (body.client_id !== world.clientId || body.client_secret !== world.clientSecret)
    return { status: 200, body: { error: 'incorrect_client_credentials', error_description: 'They are incorrect.' } }
  const user = world.codes.get(String(body.code))
  if (!user)
    return { status: 200, body: { error: 'bad_verification_code', error_description: 'Incorrect or expired.' } }
  world.codes.delete(String(body.code))
  const token = `ghu_${randomBytes(18).toString('hex')}`
  world.userTokens.set(token, user)
  return { status: 200, body: { access_token: token, token_type: 'bearer', scope: '' } }
}
