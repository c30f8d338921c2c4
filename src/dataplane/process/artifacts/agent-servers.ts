/**
 * Installs agent servers for graphs that bring none, once each, shared by all deployments. An installation is at
 * `agent-servers/<hash>/<id>/files`; `<hash>/current` names the complete one and is replaced atomically. Owned by root.
 */
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { Semaphore } from '../../../platform/async/semaphore.ts'
import type { ArtifactManifest } from '../../build/build.ts'
import { hidePasswords } from '../../build/plan/describe-plan.ts'
import type { CommandExit } from '../../build/run-command.ts'
import { type OnLine, OutputTail } from '../../output/lines.ts'
import { StepFailure } from '../../output/step-failure.ts'
import type { Layout } from '../isolation/layout.ts'
import { LockError, withMachineLock } from '../isolation/machine-lock.ts'
import { removeTrees } from '../isolation/untrusted-trees.ts'
import type { Machine } from '../machine/machine.ts'
import { inPath } from '../machine/toolchain.ts'
import { sealTree } from './tree-copy.ts'
import type { Python } from './virtual-environment.ts'

const exec = promisify(execFile)

export interface AgentServerRequest {
  machine: { layout: Pick<Layout, 'agentServers'>; accounts: Pick<Machine['accounts'], 'shared'>; searchPath: string }
  packages: string[]
  /** null: a Node server */
  python: Python | null
  /** environment of the installer, without PATH and HOME */
  env: Record<string, string>
  run: (command: string[], cwd: string, env: Record<string, string>, onLine: OnLine) => Promise<CommandExit>
  log: (line: string) => void
  signal: AbortSignal
}

/** installation folder → limit of one; callers that wait find the finished installation */
const installLimits = new Map<string, Semaphore>()
/** a younger installation may be needed by a running build */
const MIN_UNUSED_MS = 2 * 3_600_000

/** longest wait for another server's installation; the build's deadline usually ends the wait earlier */
const MAX_INSTALL_WAIT_MS = 24 * 3_600_000

/** Absolute path of the server that an artifact names; null: it does not exist (any more). */
export function agentServerFolder({ agentServers }: Pick<Layout, 'agentServers'>, name: string): string | null {
  const folder = path.join(agentServers, name, 'files')
  return /^[0-9a-f]+\/[0-9a-f]+$/.test(name) && fs.existsSync(folder) ? folder : null
}

/**
 * Returns `<hash>/<id>` for the artifact's manifest. Installs the server if it is missing. Throws StepFailure with the
 * installer's output.
 */
export async function ensureAgentServer(request: AgentServerRequest): Promise<string> {
  const { machine, packages, python, log, signal } = request
  const language = python ? `${python.program} ${python.version}` : `node ${process.version}`
  const hash = createHash('sha256')
    .update(JSON.stringify([language, packages]))
    .digest('hex')
    .slice(0, 16)
  const folder = path.join(machine.layout.agentServers, hash)
  const turn = installLimits.get(folder) ?? new Semaphore(1)
  installLimits.set(folder, turn)
  const waits = () => log('Waiting for another build that installs the same agent server')
  const id = await turn.run(signal, async () => currentId(folder) ?? (await installUnderLock(request, folder)), waits)
  const now = new Date()
  // marks it as used, so that a prune does not remove it while the build runs
  fs.utimesSync(path.join(folder, id), now, now)
  return `${hash}/${id}`
}

function currentId(folder: string): string | null {
  try {
    const id = fs.readFileSync(path.join(folder, 'current'), 'utf8')
    return fs.existsSync(path.join(folder, id)) ? id : null
  } catch {
    return null
  }
}

/** Takes the lock between servers of this machine. Without file locks both install, which is safe: both copies are complete. */
async function installUnderLock(request: AgentServerRequest, folder: string): Promise<string> {
  const { machine, signal, log } = request
  const work = async () => currentId(folder) ?? (await install(request, folder))
  if (!inPath(machine.searchPath, 'flock')) return work()
  const lock = `${folder}.lock`
  // an account of a deployment must not be able to take the lock
  fs.closeSync(fs.openSync(lock, 'a', 0o600))
  const now = new Date()
  fs.utimesSync(lock, now, now)
  const onWait = () => log('Waiting for another server of this machine that installs the same agent server')
  return withMachineLock(lock, work, { maxWaitMs: MAX_INSTALL_WAIT_MS, signal, onWait }).catch((error) => {
    if (error instanceof LockError) return work()
    throw error
  })
}

async function install(request: AgentServerRequest, folder: string): Promise<string> {
  const { machine, packages, python, signal } = request
  const account = machine.accounts.shared
  const id = randomUUID().replaceAll('-', '').slice(0, 8)
  const own = path.join(folder, id)
  const [files, home] = [path.join(own, 'files'), path.join(own, 'home')]
  try {
    fs.mkdirSync(own, { recursive: true, mode: 0o711 })
    for (const ownFolder of [files, home]) {
      fs.mkdirSync(ownFolder, { mode: 0o700 })
      if (account) fs.chownSync(ownFolder, account.uid, account.gid)
    }
    if (python) await runInstaller(request, [python.program, '-m', 'venv', files], [], home)
    const installer = python
      ? [path.join(files, 'bin/python'), '-m', 'pip', 'install']
      : ['npm', 'install', '--prefix', files]
    await runInstaller(request, installer, packages, home)
    signal.throwIfAborted()
    await sealTree(files, account)
    await exec('chmod', ['-R', 'a+rX', '--', files])
    // sealTree closed the parent folder
    fs.chmodSync(own, 0o711)
    const named = path.join(own, 'named')
    fs.writeFileSync(named, id)
    fs.renameSync(named, path.join(folder, 'current'))
  } catch (error) {
    await removeTrees(own)
    throw error
  }
  await removeTrees(home)
  return id
}

/** `packages`: what to install; empty for a preparing command. */
async function runInstaller(
  request: AgentServerRequest,
  command: string[],
  packages: string[],
  home: string,
): Promise<void> {
  const { machine, python, env, run, log } = request
  const shown = hidePasswords(`${python ? 'pip' : 'npm'} install ${packages.join(' ')}`)
  if (packages.length > 0) log(`$ ${shown}`)
  const tail = new OutputTail(10, /^(npm (error|ERR!) +\S|ERROR: )/)
  const variables = { ...env, PATH: machine.searchPath, HOME: home, TMPDIR: home }
  const exit = await run([...command, ...packages], home, variables, (line) => tail.add(line))
  if (exit.code === 0) return
  const shownCommand = packages.length > 0 ? `"${shown}"` : 'python3 -m venv'
  const setting = `AGENT_SERVER_${python ? 'PYTHON' : 'NODE'}`
  throw new StepFailure(
    'INSTALL_FAILED',
    tail.appendTo(
      `The agent server could not be installed by ${shownCommand}: the build log has its output. The operator may have to fix ${setting}.`,
    ),
  )
}

/** Removes servers that no artifact of this DATA_DIR uses, and leftovers of failed installations. */
export async function pruneAgentServers({ agentServers, apps, app }: Layout): Promise<void> {
  const all = listFolder(agentServers).flatMap((hash) =>
    listFolder(path.join(agentServers, hash)).map((id) => `${hash}/${id}`),
  )
  removeEmpty(agentServers)
  const old = all.filter((name) => !name.endsWith('/current') && isOld(path.join(agentServers, name)))
  if (old.length === 0) return
  const used = new Set<string | null>()
  for (const deploymentId of listFolder(apps)) {
    const { artifacts } = app(deploymentId)
    for (const name of listFolder(artifacts)) used.add(agentServerOf(path.join(artifacts, name, 'artifact.json')))
  }
  await removeTrees(...old.filter((name) => !used.has(name)).map((name) => path.join(agentServers, name)))
}

/**
 * Removes empty installation folders and their locks. If a waiting server still uses a removed lock, two installations run next
 * to each other; both are complete.
 */
function removeEmpty(agentServers: string): void {
  for (const name of listFolder(agentServers)) {
    const found = path.join(agentServers, name)
    if (!isOld(found)) continue
    if (name.endsWith('.lock')) {
      if (!fs.existsSync(found.slice(0, -'.lock'.length))) fs.rmSync(found, { force: true })
    } else if (listFolder(found).every((one) => one === 'current')) {
      fs.rmSync(path.join(found, 'current'), { force: true })
      try {
        fs.rmdirSync(found)
      } catch (error) {
        if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
      }
    }
  }
}

function listFolder(folder: string): string[] {
  try {
    return fs.readdirSync(folder)
  } catch {
    return []
  }
}

function agentServerOf(file: string): string | null {
  try {
    return (JSON.parse(fs.readFileSync(file, 'utf8')) as ArtifactManifest).agentServer ?? null
  } catch {
    return null
  }
}

function isOld(folder: string): boolean {
  const found = fs.lstatSync(folder, { throwIfNoEntry: false })
  return !!found && Date.now() - found.mtimeMs > MIN_UNUSED_MS
}
