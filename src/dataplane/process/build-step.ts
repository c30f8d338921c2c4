/**
 * The BUILD step on this machine: gives a build its folder, account and process groups.
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { LogLevel } from '../../domain/protocol/protocol.ts'
import type { Account } from '../../platform/postgres/embedded/account.ts'
import { buildSource } from '../build/build.ts'
import type { DockerfilePlan } from '../build/plan/build-plan.ts'
import { planReport } from '../build/plan/describe-plan.ts'
import type { Remote } from '../build/repository.ts'
import type { GitAccount, RunCommand } from '../build/run-command.ts'
import { dockerfileSource } from '../builder/image-source.ts'
import type { OnLine } from '../output/lines.ts'
import { maskFailures, passwordsOf, warnOfShortSecrets } from '../output/mask.ts'
import { StepFailure } from '../output/step-failure.ts'
import { treeArtifact } from '../runtimes/artifact.ts'
import type { Built, OnCommit, OnPlan, RevisionLog, RevisionStep } from '../runtimes/runtime.ts'
import { keepArtifact } from './artifacts/artifacts.ts'
import { prepareEnvironment } from './artifacts/build-environment.ts'
import { removeEnvironment } from './artifacts/virtual-environment.ts'
import type { DeploymentAccounts } from './isolation/accounts.ts'
import { launcherFor } from './isolation/confinement.ts'
import { temporaryFolder } from './isolation/layout.ts'
import { chownTree, chownTreeToServer, removeTrees } from './isolation/untrusted-trees.ts'
import { prepareContext } from './machine/app-context.ts'
import type { Machine } from './machine/machine.ts'
import { inPath } from './machine/toolchain.ts'
import { runGroup } from './processes/process-group.ts'

/** Settings that keep package managers from asking, advertising and phoning home. */
const BUILD_ENV = {
  CI: 'true',
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
  COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
  PIP_NO_INPUT: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PIP_PROGRESS_BAR: 'off',
  UV_NO_PROGRESS: '1',
  UV_PYTHON_DOWNLOADS: 'never',
  // what is kept becomes ours, and its cache must not
  UV_LINK_MODE: 'copy',
  UV_COMPILE_BYTECODE: '1',
}

/** Rejects when the signal aborts, after all processes of the build have ended. */
export async function runBuild(
  machine: Machine,
  deploymentId: string,
  step: RevisionStep,
  log: RevisionLog,
  signal: AbortSignal,
  onCommit: OnCommit,
  onPlan: OnPlan,
): Promise<Built> {
  const { revision } = step
  warnOfShortSecrets(revision.secrets, log, 'build')
  const credentials =
    revision.source === 'gitprovider' ? await machine.options.sources.gitCredentials(deploymentId, signal) : null
  const indexes = machine.options.packageIndexes ?? {}
  const hidden = [...(credentials ? [credentials.password] : []), ...Object.values(indexes).flatMap(passwordsOf)]
  const context = await prepareContext({ machine, deploymentId, revision, log, signal }, hidden)
  const { app, accounts, env, mask } = context
  const artifact = `${revision.id}.${revision.attempt}.${step.tries}`
  const folder = path.join(app.builds, randomUUID())
  fs.mkdirSync(folder, { mode: 0o711 })
  const temporary = temporaryFolder(app, accounts.code, machine.confinement, 'build-')
  let kept = false
  try {
    return await maskFailures(
      mask,
      (reason) => log.write('build', reason, 'error'),
      async () => {
        // npm takes every UUID for a secret, and prints *** in its place
        const named = (account: string) => path.join(path.dirname(account), '***')
        const rewrite = (line: string) => line.replaceAll(named(app.root), app.root).replaceAll(named(folder), folder)
        const run: RunCommand = async (command, onLine) => {
          const { gitAccount } = command
          const isGit = gitAccount !== undefined
          const account = isGit ? gitAccount : accounts.code
          const printed: OnLine = (...line) => {
            onLine(...line)
            if (!isGit) print(...line)
          }
          // git finds repositories and its account's keys where they are
          const confinement = isGit ? { ...machine.confinement, folders: [] } : machine.confinement
          const confined = account && { account, confinement, folder: temporary.folder }
          const own = { account, mask, owner: step.id, tagged: !isGit }
          const before = confined && { launcher: launcherFor('build', confined) }
          return runGroup(machine.reaper, { ...command, ...own, ...before, rewrite }, printed, signal)
        }
        const print: OnLine = (shown, _, styles) => log.print('build', shown, styles)
        const write = (line: string, level?: LogLevel) => log.write('build', mask(line), level)
        const packages = { ...BUILD_ENV, ...indexes }
        const environmentOptions = {
          machine,
          app,
          artifact,
          tree: path.join(folder, 'tree'),
          account: accounts.code,
          env: packages,
          mask,
          owner: step.id,
          log: write,
          run,
          print,
          signal,
        }
        let seal: () => Promise<void> = async () => undefined
        const image = await buildSource({
          revision,
          folder,
          gitDirectory: machine.options.gitDirectory,
          sources: machine.options.sources,
          credentials,
          searchPath: machine.searchPath,
          outboundAllow: machine.options.outboundAllow ?? [],
          gitAccount: (protocol) => gitAccountOf(machine, accounts, protocol),
          reclaim: chownTreeToServer,
          hasProgram: (program) => inPath(machine.searchPath, program),
          env: { ...packages, ...env, TMPDIR: temporary.tmp },
          run,
          servers: machine.options.agentServers ?? { node: null, python: null },
          async prepare(plan) {
            const prepared = await prepareEnvironment(environmentOptions, plan)
            seal = prepared.seal
            return prepared
          },
          async chownToBuild(tree) {
            if (accounts.code) await chownTree(tree, accounts.code)
          },
          async buildImage(plan, tree) {
            await machine.images.ready(signal).catch((error) => {
              throw error instanceof StepFailure ? orWithout(plan, error) : error
            })
            const source = await dockerfileSource(plan, tree, revision, indexes)
            return machine.images.build(deploymentId, step, source, log, context.hidden, signal)
          },
          log: write,
          onCommit,
          onPlan: (plan) => onPlan(planReport(plan, mask)),
          phase: step.phase,
          signal,
        })
        signal.throwIfAborted()
        if (image !== null) return { artifact: image }
        step.phase?.('store the artifact')
        await seal()
        await keepArtifact(app, folder, artifact, accounts.code, signal)
        kept = true
        return { artifact: treeArtifact(artifact) }
      },
    )
  } finally {
    if (!kept) await removeEnvironment(app, artifact)
    await limitCaches(app.home, accounts.code)
    await removeTrees(folder, temporary.folder)
  }
}

/**
 * Of a deployment's accounts the one that runs none of its code; ssh needs an account of the system, with a home for its
 * keys. The group lets git pass through the deployment's folders.
 */
function gitAccountOf(
  machine: Machine,
  { code, network }: DeploymentAccounts,
  protocol: Remote['protocol'],
): GitAccount | null {
  const of = protocol === 'ssh' ? machine.accounts.shared : network
  return of && code ? { uid: of.uid, gid: code.gid } : of
}

/** Here a tree may do without its Dockerfile, which earlier versions did not look at. */
const orWithout = ({ dockerfile, graphConfig }: DockerfilePlan, { reason, message }: StepFailure): StepFailure =>
  new StepFailure(
    reason,
    `${message} If "${dockerfile}" is not for this: "dockerfile": false in "${graphConfig}" leaves it aside.`,
  )

const MAX_CACHE_MB = 1000
/** a finished build does not wait longer; the next build checks again */
const CACHE_CHECK_TIMEOUT_MS = 20_000

/** Run under the deployment's account, so a symlink can only lead to files that the account could remove anyway. */
const EMPTY_IF_LARGE = `cd -- "$1" || exit
set -- .npm/_cacache .cache/pip .cache/uv .cache/yarn .cache/pnpm .yarn/berry/cache .local/share/pnpm/store
used=$(du -sm -- "$@" 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }')
[ "$used" -le ${MAX_CACHE_MB} ] || rm -rf -- "$@"`

/** Limits package managers' caches in HOME, which speed up the next build. `account`: its owner; null: the server's. Never throws. */
async function limitCaches(home: string, account: Account | null): Promise<void> {
  await promisify(execFile)('/bin/sh', ['-c', EMPTY_IF_LARGE, 'sh', home], {
    ...account,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    timeout: CACHE_CHECK_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  }).catch(() => undefined)
}
