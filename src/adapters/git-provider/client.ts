/** Implements the domain's git provider port with the provider's REST API. */
import { verify } from '@octokit/webhooks-methods'
import {
  type CloneToken,
  type GitProvider,
  type ProviderRepository,
  ProviderUnavailableError,
} from '../../domain/ports/git-provider.ts'
import { callProvider, Refusal } from './call.ts'
import type { Client, Connection } from './connection.ts'

export function gitProviderOf(connection: Connection, webhookSecret: string): GitProvider {
  const { log, apiUrl, oauthClient } = connection.settings
  const webUrl = webUrlOf(apiUrl)
  return {
    async installUrl(state, signal) {
      const { data } = await callProvider(log, 'the app', signal, (inner) =>
        connection.as().request('GET /app', { request: { signal: inner } }),
      )
      return `${data!.html_url}/installations/new?${new URLSearchParams({ state })}`
    },

    installation: (id, signal) =>
      callProvider(log, 'an installation', signal, async (inner) => {
        const { data } = await connection.as().request('GET /app/installations/{installation_id}', {
          installation_id: id,
          request: { signal: inner },
        })
        const account = data.account as { login?: string; slug?: string } | null
        return {
          id: data.id,
          account: account?.login ?? account?.slug ?? String(data.target_id),
          createdAt: new Date(data.created_at),
          suspended: Boolean(data.suspended_at),
        }
      }).catch(without(404)),

    mayUse: oauthClient ? (code, id, signal) => mayUse(connection, code, id, signal) : null,

    repositories: (id, signal) =>
      callProvider(log, 'repositories', signal, (inner) =>
        asInstallation(connection, id, (client) => listRepositories(client, inner)),
      ).catch(without(404)),

    branchHead: (id, repository, branch, signal) =>
      callProvider(log, 'a branch', signal, async (inner) => {
        const { data } = await asInstallation(connection, id, (client) =>
          client.request('GET /repos/{owner}/{repo}/git/ref/{ref}', {
            ...named(repository),
            ref: `heads/${branch}`,
            request: { signal: inner },
          }),
        )
        return data.object.sha
        // 409: a repository without any commit
      }).catch(without(404, 409)),

    async createStatus(id, repository, sha, { state, context, description, targetUrl }, signal) {
      const made = await callProvider(log, 'a commit status', signal, async (inner) => {
        await asInstallation(connection, id, (client) =>
          client.request('POST /repos/{owner}/{repo}/statuses/{sha}', {
            ...named(repository),
            sha,
            state,
            context,
            description,
            target_url: targetUrl,
            request: { signal: inner },
          }),
        )
        return true
        // 403: the repository was archived, or the permission is missing
      }).catch(without(403, 404, 422))
      return made ?? false
    },

    cloneToken: (id, repository, signal) =>
      callProvider(log, 'a token for cloning', signal, (inner) => cloneToken(connection, id, repository, inner))
        // 403 and 451: the provider blocks the repository
        .catch(without(403, 404, 422, 451)),

    repositoryOf: (repoUrl) => repositoryOf(webUrl, repoUrl),

    async verifyWebhook(rawBody, signature) {
      if (rawBody.length === 0 || !signature) return false
      return await verify(webhookSecret, rawBody.toString('utf8'), signature)
    },
  }
}

/** Returns null for a refusal with one of these statuses. */
function without(...statuses: number[]): (error: unknown) => null {
  return (error) => {
    if (error instanceof Refusal && statuses.includes(error.status)) return null
    throw error
  }
}

/** `https://api.github.com` → `https://github.com`, `https://HOST/api/v3` → `https://HOST`, others: the origin. */
function webUrlOf(apiUrl: string): string {
  const { origin, hostname } = new URL(apiUrl)
  return hostname === 'api.github.com' ? 'https://github.com' : origin
}

/** `owner/name` of a clone URL on this web site; null for other URLs and for URLs with credentials. */
function repositoryOf(webUrl: string, repoUrl: string): string | null {
  if (!URL.canParse(repoUrl)) return null
  const { origin, username, password, pathname, search, hash } = new URL(repoUrl)
  if (origin !== new URL(webUrl).origin || username || password || search || hash) return null
  const found = /^\/([\w-][\w.-]*)\/([\w.-]+?)(?:\.git)?\/?$/.exec(pathname)
  const [, owner, name] = found ?? []
  return owner && name && !/^\.{1,2}$/.test(name) ? `${owner}/${name}` : null
}

const PAGE_SIZE = 100
const CONCURRENT_PAGES = 6

/** The first page has the total; the other pages are fetched concurrently. */
async function listRepositories(client: Client, signal: AbortSignal): Promise<ProviderRepository[]> {
  const fetchPage = async (page: number) => {
    const parameters = { per_page: PAGE_SIZE, page, request: { signal } }
    const { data } = await client.request('GET /installation/repositories', parameters)
    return data
  }
  const first = await fetchPage(1)
  const pages = [first.repositories]
  const last = Math.ceil(first.total_count / PAGE_SIZE)
  let next = 2
  const fetchRest = async () => {
    while (next <= last) {
      const page = next++
      pages[page - 1] = (await fetchPage(page)).repositories
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_PAGES }, fetchRest))
  // a repository that moves to another page during the fetch appears twice
  const unique = new Map(pages.flat().map((repository) => [repository.id, repository]))
  return [...unique.values()]
    .filter(({ archived }) => !archived)
    .map(({ id, name, owner, clone_url: url, default_branch: defaultBranch }) => ({
      id,
      name,
      owner: owner.login,
      url,
      defaultBranch,
    }))
    .sort((a, b) => compare(a.owner, b.owner) || compare(a.name, b.name))
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/**
 * A cached token stops working when the app is removed, suspended or reinstalled. A new token then helps, or its error
 * explains.
 */
async function asInstallation<T>(
  connection: Connection,
  installationId: number,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = connection.as(installationId)
  // separate call: inside the request, its retries would multiply with the request's
  await client.auth({ type: 'installation' })
  try {
    return await work(client)
  } catch (error) {
    if ((error as { status?: number }).status !== 401) throw error
    await client.auth({ type: 'installation', refresh: true })
    return await work(client)
  }
}

/** A token that expires sooner is replaced, because the clone may have to wait for its turn. */
const MIN_TOKEN_LIFETIME_MS = 10 * 60_000

/**
 * Gets a clone token by the repository's id. A name is not enough: it also finds public repositories outside the
 * installation.
 */
async function cloneToken(
  connection: Connection,
  installationId: number,
  repository: string,
  signal: AbortSignal,
): Promise<CloneToken> {
  const { data } = await asInstallation(connection, installationId, (asked) =>
    // the provider redirects old names
    asked.request('GET /repos/{owner}/{repo}', { ...named(repository), request: { signal } }),
  )
  const found = { repositoryId: data.id, repository: data.full_name }
  const client = connection.as(installationId)
  const tokenRequest = {
    type: 'installation',
    installationId,
    repositoryIds: [data.id],
    permissions: { contents: 'read' },
  }
  const cached = (await client.auth(tokenRequest)) as { token: string; expiresAt: string }
  if (Date.parse(cached.expiresAt) - Date.now() > MIN_TOKEN_LIFETIME_MS) return { ...found, token: cached.token }
  const fresh = (await client.auth({ ...tokenRequest, refresh: true })) as { token: string }
  return { ...found, token: fresh.token }
}

/** Calls as an installation with a cached token, tokens for cloning one repository, and who may use an installation. */
function named(repository: string): { owner: string; repo: string } {
  const [owner = '', repo = ''] = repository.split('/')
  return { owner, repo }
}

/** Exchanges the single-use code for a token of the person, and drops the token after the check. */
async function mayUse(
  connection: Connection,
  code: string,
  installationId: number,
  signal?: AbortSignal,
): Promise<boolean> {
  return await callProvider(connection.settings.log, 'the installations of a person', signal, async () => {
    const token = await exchange(connection, code)
    if (!token) return false
    const installations = await connection.asPerson(token).paginate('GET /user/installations', { per_page: 100 })
    return installations.some(({ id }) => id === installationId)
  })
}

/** Null when the code is wrong, used or expired. */
async function exchange(connection: Connection, code: string): Promise<string | null> {
  try {
    const { token } = (await connection.as().auth({ type: 'oauth-user', code })) as { token: string }
    return token
  } catch (error) {
    const said = (error as { response?: { data?: { error?: string } } }).response?.data?.error
    if (said === 'bad_verification_code') return null
    if (said) throw new ProviderUnavailableError(`refuses our OAuth client (${said})`)
    throw error
  }
}
