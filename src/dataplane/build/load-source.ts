/** Loads a revision's source into the folder of a build: a commit of a repository, or an uploaded tarball. */
import fs from 'node:fs'
import path from 'node:path'
import type { LogLevel, RevisionWork } from '../../domain/protocol/protocol.ts'
import { hostOf } from '../../platform/http/outbound-address.ts'
import { StepFailure } from '../output/step-failure.ts'
import { checkOutCommit, type OnCommit } from './fetch-commit.ts'
import { createGit } from './git.ts'
import { requirePinning, resolveRoute } from './git-route.ts'
import { missingContent } from './missing-content.ts'
import { allowedRemote, fullRef, type Remote } from './repository.ts'
import type { GitAccount, RunCommand } from './run-command.ts'
import type { GitCredentials, SourceAccess } from './source-access.ts'
import { printable } from './tarball-entry.ts'
import { unpackTarball } from './unpack-tarball.ts'

export interface SourceRequest {
  revision: RevisionWork
  /** empty, and only the server can enter it; the build creates `tree` and `artifact.json` in it */
  folder: string
  gitDirectory: string
  sources: SourceAccess
  credentials: GitCredentials | null
  searchPath: string
  outboundAllow: readonly string[]
  /** git's account for repositories elsewhere; null: the server's */
  gitAccount: (protocol: Remote['protocol']) => GitAccount | null
  /** makes the server's account the owner of a folder and its contents */
  reclaim: (folder: string) => Promise<void>
  run: RunCommand
  /** writes a line to the build log; `level` defaults to `info` */
  log: (line: string, level?: LogLevel) => void
  /** called with the commit as soon as it is known; never for a source without commits */
  onCommit: OnCommit
  /** begins the next phase of the build */
  phase?: ((name: string) => void) | undefined
  signal: AbortSignal
}

/** Creates `tree`, which must not exist. Returns a hint for messages about missing files. Throws StepFailure. */
export function loadSource(request: SourceRequest, tree: string): Promise<string> {
  request.phase?.('load the source')
  return request.revision.source === 'internal_source' ? unpack(request, tree) : checkOut(request, tree)
}

async function checkOut(request: SourceRequest, tree: string): Promise<string> {
  const { revision, folder, credentials, searchPath, run, log, onCommit } = request
  if (!revision.repoUrl || !revision.repoRef)
    throw new StepFailure('CONFIG_INVALID', 'repo_url, repo_ref and graph_config_path are all needed for a build.')
  const repository = path.join(folder, 'git')
  const present = credentials?.repoUrl
  const remote = allowedRemote(present ?? revision.repoUrl, request.gitDirectory)
  if (present) log(`The repository is now ${repositoryName(present)}; its old address is followed.`)
  const ref = fullRef(revision.repoRef)
  log(`Fetching ${revision.repoCommitSha ?? ref}`)
  const configFile = path.join(folder, 'gitconfig')
  // the operator configured the provider, so its host is allowed even at a private address
  const provider = credentials ? [hostOf(new URL(remote.url))] : []
  const route = await resolveRoute(remote, { allow: [...request.outboundAllow, ...provider] })
  // Only the server's account can read repositories of this machine, and git contacts no host for them.
  const account = route ? request.gitAccount(remote.protocol) : null
  const git = createGit({ remote, folder: repository, credentials, configFile, searchPath, route, account, run, log })
  try {
    if (route && remote.protocol !== 'ssh') requirePinning(await git.run(['version']))
    const source = { remote, ref, commit: revision.repoCommitSha }
    await checkOutCommit(git, source, repository, tree, (commit, info) => {
      log(`Commit ${commit}`)
      onCommit(commit, info)
    })
    for (const warning of await missingContent(git, tree)) log(warning, 'warning')
  } catch (error) {
    // report the first failure; the build's folder is removed as a whole
    await git.close().catch(() => undefined)
    throw error
  }
  // remaining files, including credentials, would become part of the artifact
  await git.close()
  if (account) await request.reclaim(tree)
  return 'check graph_config_path and repo_ref'
}

/** `owner/name` */
const repositoryName = (repoUrl: string) => new URL(repoUrl).pathname.slice(1).replace(/\.git$/, '')

async function unpack({ revision, sources, log, signal }: SourceRequest, tree: string): Promise<string> {
  log('Unpacking the source tarball')
  await fs.promises.mkdir(tree, { mode: 0o711 })
  await unpackTarball(await sources.tarball(revision.id, signal), tree, signal)
  return `check graph_config_path${await configPathHint(tree)}`
}

/** Hint for a tarball that contains one folder, which is then part of every path. */
async function configPathHint(tree: string): Promise<string> {
  const [top, ...others] = await fs.promises.readdir(tree, { withFileTypes: true })
  if (!top?.isDirectory() || others.length > 0) return ', which is relative to the root of the tarball'
  const name = printable(top.name)
  return `; all files of the tarball are in the folder "${name}", so paths begin with "${name}/"`
}
