/** The repositories of an integration, for `repo_url` and `repo_ref` of a deployment (docs/sources.md#git-providers). */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { Integration } from '../../../generated/prisma/client.ts'
import type { Source } from '../../../generated/prisma/enums.ts'
import { ConflictError, type Violation } from '../../errors/errors.ts'
import { cut, decodeCursor, encodeCursor, type Slice, type Window, windowSize } from '../../paging/paging.ts'
import { uuid } from '../../parsing/fields.ts'
import { parse, type RawInput, violation } from '../../parsing/parse.ts'
import { requireRole } from '../../transaction/access.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { parseRepoUrl } from '../../values/repository-url.ts'
import type { SourceConfig } from '../../values/shapes.ts'
import { integrations, requireActiveInstallation } from './integrations.ts'

export interface Repository {
  hostIntegrationId: string
  /** the provider's id, or for a directory a hash of the path; at most 2^53 - 1 */
  id: number
  name: string
  owner: string
  url: string
  defaultBranch: string
}

export const listRepositoriesInput = z.object({ path: z.object({ integration_id: uuid }) })

/** Role: viewer. Throws NotFoundError, ConflictError, ProviderUnavailableError. */
export async function listRepositories(ctx: RequestContext, raw: RawInput): Promise<Repository[]> {
  requireRole(ctx, 'viewer')
  const { path } = parse(listRepositoriesInput, raw)
  return repositoriesOf(ctx, await integrations.get(ctx, () => path.integration_id))
}

export async function repositoriesOf(ctx: RequestContext, integration: Integration): Promise<Repository[]> {
  const { id: hostIntegrationId, kind, name } = integration
  if (kind === 'directory') {
    const found = await findRepositories(ctx.settings.gitDirectory)
    return found.map((repository) => ({ ...repository, owner: repository.owner ?? name, hostIntegrationId }))
  }
  const { provider, installation } = requireActiveInstallation(ctx, integration)
  const found = await provider.repositories(installation, ctx.client?.gone)
  if (found) return found.map((repository) => ({ ...repository, hostIntegrationId }))
  throw new ConflictError(
    `The app is no longer installed at the git provider for '${name}': remove the integration and install the app again.`,
  )
}

/**
 * Checks that the named integration can access a new deployment's repository; a `directory` accepts any URL. Calls the provider,
 * so it must run before the transaction. Throws NotFoundError for the integration; ConflictError while it is suspended;
 * ProviderUnavailableError.
 */
export async function repositoryViolations(
  ctx: RequestContext,
  { source, source_config: config }: { source: Source; source_config: SourceConfig },
): Promise<Violation[]> {
  if (config.integration_id == null) return []
  const integration = await integrations.get(ctx, () => config.integration_id!)
  if (source !== 'gitprovider' || integration.kind !== 'app' || config.repo_url == null) return []
  // the field rules report an invalid URL
  if (typeof parseRepoUrl(config.repo_url) === 'string') return []
  const { provider, installation } = requireActiveInstallation(ctx, integration)
  const repository = provider.repositoryOf(config.repo_url)
  const token = repository && (await provider.cloneToken(installation, repository, ctx.client?.gone))
  if (token) return []
  return [
    violation('source_config.repo_url', `Must be a repository that the integration '${integration.name}' reaches.`),
  ]
}

type Key = [owner: string, name: string, url: string]

const keyShape = z.tuple([z.string(), z.string(), z.string()])

/** Names in a directory may differ only in case, so the URL makes the order total. */
const keyOf = ({ owner, name, url }: Repository): Key => [owner.toLowerCase(), name.toLowerCase(), url]

export const repositoryCursor = (repository: Repository): string => encodeCursor(keyOf(repository))

/** Keeps repositories with `search` in `owner/name`, ignoring case. */
export function searchRepositories(all: readonly Repository[], search: string | null | undefined): Repository[] {
  const searched = search?.trim().toLowerCase() ?? ''
  return all.filter(({ owner, name }) => `${owner}/${name}`.toLowerCase().includes(searched))
}

/** Throws ValidationError for a bad size or cursor. */
export function windowRepositories(all: readonly Repository[], window: Window): Slice<Repository> {
  const { take, backward } = windowSize(window)
  const after = boundary(window.after, 'after')
  const before = boundary(window.before, 'before')
  const inside = all
    .filter((one) => (!after || compare(keyOf(one), after) > 0) && (!before || compare(keyOf(one), before) < 0))
    .sort((a, b) => compare(keyOf(a), keyOf(b)))
  if (backward) inside.reverse()
  return cut(window, inside.slice(0, take + 1))
}

function boundary(cursor: string | null | undefined, name: string): Key | null {
  return cursor ? decodeCursor(cursor, keyShape, ['query', name]) : null
}

function compare(a: Key, b: Key): number {
  const at = a.findIndex((part, i) => part !== b[i])
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1
}

/** Limits, so a wrong GIT_DIRECTORY can't make a request walk a whole disk. */
const MAX_FOLDER_DEPTH = 4
const MAX_FOLDERS = 10_000

/** `owner`: the parent folder; null: the root. */
type DirectoryRepository = Omit<Repository, 'owner' | 'hostIntegrationId'> & { owner: string | null }

/**
 * Sorted by path. A missing folder yields an empty list. Symbolic links are not followed. A repository whose HEAD is no branch is
 * left out.
 */
async function findRepositories(root: string): Promise<DirectoryRepository[]> {
  const found: DirectoryRepository[] = []
  let budget = MAX_FOLDERS
  const walk = async (relative: string, depth: number): Promise<void> => {
    if (budget-- <= 0) return
    const folder = path.join(root, relative)
    const entries = await readdir(folder, { withFileTypes: true }).catch(emptyIfUnreadable)
    const has = (name: string) => entries.some((entry) => entry.name === name)
    if (has('HEAD') && has('objects') && has('refs')) {
      const head = await readFile(path.join(folder, 'HEAD'), 'utf8').catch(() => '')
      const defaultBranch = /^ref: refs\/heads\/(\S+)\s*$/.exec(head)?.[1]
      if (defaultBranch !== undefined && relative !== '') found.push(describe(root, relative, defaultBranch))
      return
    }
    if (depth === MAX_FOLDER_DEPTH) return
    for (const entry of entries) {
      // a symbolic link is not a directory here, so the walk can't leave the root
      if (entry.isDirectory() && entry.name !== '.git') await walk(path.join(relative, entry.name), depth + 1)
    }
  }
  await walk('', 0)
  return found.sort((a, b) => (a.url < b.url ? -1 : 1))
}

function describe(root: string, relative: string, defaultBranch: string): DirectoryRepository {
  const parent = path.basename(path.dirname(relative))
  // a hash of the path, so it is the same on every server; 52 bits are exact in JSON
  const digest = createHash('sha256').update(relative.split(path.sep).join('/')).digest()
  return {
    id: Number(digest.readBigUInt64BE() >> 12n),
    name: path.basename(relative, '.git'),
    owner: parent === '.' || parent === '' ? null : parent,
    url: pathToFileURL(path.join(root, relative)).href,
    defaultBranch,
  }
}

function emptyIfUnreadable(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'EACCES') return []
  throw error
}
