/**
 * Brings the source of a revision into the folder of a build: a commit of a repository, or an uploaded tarball.
 */
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
  /** empty and only the server's; the build fills its `tree` and writes its `artifact.json` */
  folder: string
  gitDirectory: string
  sources: SourceAccess
  /** of the repository; null: it is read without */
  credentials: GitCredentials | null
  /** PATH of all commands */
  searchPath: string
  /** private addresses that git may connect to */
  outboundAllow: readonly string[]
  /** the account of git for a repository that is not on this machine; null: the server's */
  gitAccount: (protocol: Remote['protocol']) => GitAccount | null
  /** gives a folder with all that is in it to the server's account */
  reclaim: (folder: string) => Promise<void>
  run: RunCommand
  /** lines of our own; `level` is `info` unless named */
  log: (line: string, level?: LogLevel) => void
  /** called with the exact commit as soon as it is known; never called for a source that has no commits */
  onCommit: OnCommit
  signal: AbortSignal
}

/** `tree` must not be there yet. Returns what to look at when a file is missing in it. Throws StepFailure. */
export function loadSource(request: SourceRequest, tree: string): Promise<string> {
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
  // credentials are for the provider that the operator has configured, wherever it is
  const provider = credentials ? [hostOf(new URL(remote.url))] : []
  const route = await resolveRoute(remote, { allow: [...request.outboundAllow, ...provider] })
  // The server's account reads repositories of this machine: no other account can, and git talks to no stranger for them.
  const account = route ? request.gitAccount(remote.protocol) : null
  const git = createGit({ remote, folder: repository, credentials, configFile, searchPath, route, account, run, log })
  try {
    if (route && remote.protocol !== 'ssh') requirePinning(await git.run(['version']))
    const source = { remote, ref, commit: revision.repoCommitSha }
    await checkOutCommit(git, source, repository, tree, (commit, said) => {
      log(`Commit ${commit}`)
      onCommit(commit, said)
    })
    for (const warning of await missingContent(git, tree)) log(warning, 'warning')
  } catch (error) {
    // the first failure is the one that is reported; the folder of the build goes as a whole
    await git.close().catch(() => undefined)
    throw error
  }
  // what stays there would become part of the artifact, credentials among it
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

/** Whoever packs a folder instead of what is in it has one more name in all paths. */
async function configPathHint(tree: string): Promise<string> {
  const [top, ...others] = await fs.promises.readdir(tree, { withFileTypes: true })
  if (!top?.isDirectory() || others.length > 0) return ', which is relative to the root of the tarball'
  const name = printable(top.name)
  return `; all that is in the tarball is in the folder "${name}", so paths begin with "${name}/"`
}
