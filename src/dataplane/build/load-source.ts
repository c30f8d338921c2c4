/**
 * Loads a revision's source into the folder of a build: a commit of a repository, or an uploaded tarball. Makes its plan before
 * any of its code has run. Warns about files that a checkout leaves without content: an agent would fail with a misleading error.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { LogLevel, RevisionWork } from '../../domain/protocol/protocol.ts'
import { HEALTH_PATH_SECRET, healthPathOf } from '../../domain/values/health-path.ts'
import { hostOf } from '../../platform/http/outbound-address.ts'
import { StepFailure } from '../output/step-failure.ts'
import { checkOutCommit, type OnCommit } from './fetch-commit.ts'
import { createGit, type Git } from './git.ts'
import { requirePinning, resolveRoute } from './git-route.ts'
import type { BuildPlan } from './plan/build-plan.ts'
import { planBuild, type SuppliedServers } from './plan/plan-build.ts'
import { sourceTree } from './plan/source-tree.ts'
import { allowedRemote, fullRef, type Remote } from './repository.ts'
import type { GitAccount, RunCommand } from './run-command.ts'
import type { GitCredentials, SourceAccess } from './source-access.ts'
import { printable } from './tarball-tree.ts'
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
  /** begins the next phase of the build; `server`: the host that it calls */
  phase?: ((name: string, server?: string) => void) | undefined
  signal: AbortSignal
}

/** Creates `tree`, which must not exist. Returns a hint for messages about missing files. Throws StepFailure. */
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
  request.phase?.('load the source', new URL(remote.url).host || undefined)
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

async function unpack({ revision, sources, phase, log, signal }: SourceRequest, tree: string): Promise<string> {
  phase?.('load the source')
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

/** names listed in one warning */
const MAX_NAMES = 10
/** first line of every pointer (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md); pointers are under 1024 bytes */
const POINTER = 'version https://git-lfs.github.com/spec/v1\n'
const MAX_POINTER_BYTES = 1024

/** Warnings for the build log; empty when no content is missing. `tree`: what `git` has just checked out. */
async function missingContent(git: Git, tree: string): Promise<string[]> {
  const worktree = `--work-tree=${tree}`
  const lfs = lines(await git.run([worktree, 'ls-files', '--', ':(attr:filter=lfs)']))
  const pointers: string[] = []
  for (const name of lfs) if (await isPointer(path.join(tree, name))) pointers.push(name)
  const links = lines(await git.run(['ls-files', '--stage'], (line) => line.startsWith('160000 ')))
  const submodules = links.map((line) => line.slice(line.indexOf('\t') + 1))
  return [
    ...(pointers.length > 0
      ? [`Git LFS content is not fetched: ${countAndNames('file', pointers)} will contain only a pointer.`]
      : []),
    ...(submodules.length > 0
      ? [`Submodules are not fetched: ${countAndNames('folder', submodules)} will be empty.`]
      : []),
  ]
}

const lines = (output: string) => output.split('\n').filter(Boolean)

/** `2 files (a.bin, b.bin)` */
function countAndNames(noun: string, names: string[]): string {
  const more = names.length > MAX_NAMES ? `, … and ${names.length - MAX_NAMES} more` : ''
  return `${names.length} ${noun}${names.length > 1 ? 's' : ''} (${names.slice(0, MAX_NAMES).join(', ')}${more})`
}

/** False for symlinks and for names with quotes or control characters, which git prints quoted. */
async function isPointer(file: string): Promise<boolean> {
  const stat = await fs.promises.lstat(file).catch(() => null)
  if (!stat?.isFile() || stat.size >= MAX_POINTER_BYTES) return false
  return (await fs.promises.readFile(file, 'utf8')).startsWith(POINTER)
}

/**
 * `hint`: what to check when a file is missing. `log` gets the plan's notes; the caller logs the plan itself. Throws StepFailure.
 */
export function planSource(
  tree: string,
  { graphConfigPath, installCommand, buildCommand }: RevisionWork,
  settings: SuppliedServers,
  hint: string,
  log: (line: string, level?: LogLevel) => void,
): BuildPlan {
  if (!graphConfigPath) throw new StepFailure('CONFIG_INVALID', 'graph_config_path is needed for a build.')
  const plan = planBuild(sourceTree(tree), { graphConfigPath, installCommand, buildCommand, settings, hint })
  for (const note of plan.notes) log(note, 'warning')
  return plan
}

/** An image has no health path, so `health_path` of the file has no effect there. */
export function warnOfUnusedHealthPath(
  { healthPath, graphConfig }: BuildPlan,
  { secrets }: Pick<RevisionWork, 'secrets'>,
  log: (line: string, level?: LogLevel) => void,
): void {
  if (healthPath === undefined || healthPathOf(secrets, healthPath) === healthPathOf(secrets)) return
  log(
    `"health_path" of "${graphConfig}" has no effect on an image: set the secret ${HEALTH_PATH_SECRET} to ${healthPath}.`,
    'warning',
  )
}
