/**
 * A machine to test the process runtime on: folders, a database server, git repositories made from the demo's agent,
 * and claims like those of a control plane.
 */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SourceAccess } from '../../src/dataplane/build/source-access.ts'
import type { AccessSource } from '../../src/dataplane/process/door/server-link.ts'
import type { OutputLog, ProcessRuntimeOptions } from '../../src/dataplane/process/machine/machine.ts'
import { createProcessRuntime, type ProcessRuntime } from '../../src/dataplane/process/runtime.ts'
import { endAgents } from '../../src/dataplane/process/supervisor-client/end-agents.ts'
import { supervisorFiles } from '../../src/dataplane/process/supervisor-client/supervisor-files.ts'
import type { LeasedClaim, RevisionLog, RevisionStep } from '../../src/dataplane/runtimes/runtime.ts'
import { ClaimLostError } from '../../src/domain/errors/errors.ts'
import type { RevisionWork, Run, Step } from '../../src/domain/protocol/protocol.ts'
import type { StepKind } from '../../src/generated/prisma/enums.ts'
import { testDatabase } from '../support/database.ts'
import { gitRevision } from '../support/revision-work.ts'

/** Sources for git repositories without credentials only. */
export const NO_SOURCES: SourceAccess = {
  gitCredentials: async () => null,
  tarball: () => Promise.reject(new Error('no tarballs here')),
  imageCredentials: async () => null,
}

const AGENT = fileURLToPath(new URL('../../src/cli/demo-agent', import.meta.url))

export interface TestMachine {
  options: ProcessRuntimeOptions
  runtime: ProcessRuntime
  /** Like a reboot: no agent runs, and no server holds a deployment. */
  restart(): Promise<void>
  /**
   * A bare repository below GIT_DIRECTORY with branch `main`: the demo's agent with these files changed (null:
   * removed).
   */
  repository(files?: Files): Repository
  close(): Promise<void>
}

export type Files = Record<string, string | null>

export interface Repository {
  /** absolute path of the bare repository */
  folder: string
  url: string
  /** the newest commit */
  head(): string
  push(files: Files, options?: { tag?: string; branch?: string }): string
}

export async function openTestMachine(changes: Partial<ProcessRuntimeOptions> = {}): Promise<TestMachine> {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-dataplane-')))
  fs.chmodSync(root, 0o755)
  const database = await testDatabase()
  const gitDirectory = path.join(root, 'git')
  fs.mkdirSync(gitDirectory)
  // each test worker has its own ports, apart from those that tests name (21700-21969)
  const low = 22_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % 3) * 2600 + Math.floor(Math.random() * 2500)
  const options: ProcessRuntimeOptions = {
    dataDir: path.join(root, 'data'),
    gitDirectory,
    adminUrl: database.url,
    apps: { port: 0, host: '127.0.0.1' },
    appHost: '127.0.0.1',
    appPorts: [low, low + 50],
    sources: NO_SOURCES,
    supervisors: {
      installation: randomUUID(),
      // for agents of a killed test process
      orphanHours: 1 / 60,
      drainSeconds: 600,
      output: { fileBytes: 1_000_000, files: 5, linesPerSecond: 200 },
    },
    ...changes,
  }
  const logs = new Map<string, RevisionLog>()
  const output = outputToLogs(logs, new Map())
  const open = () => withLogs(createProcessRuntime({ ...options, output }), logs)
  const end = async () => {
    await opened.runtime.close({ endAgents: true })
    await endAgents(options.dataDir, 0)
  }
  const opened: TestMachine = {
    options,
    runtime: open(),
    async restart() {
      await end()
      opened.runtime = open()
    },
    repository: (files = {}) => createRepository(root, gitDirectory, files),
    async close() {
      await end()
      await database.drop()
      fs.rmSync(root, { recursive: true, force: true })
    },
  }
  return opened
}

/** Sends agents' output to the log that their revision was last deployed or run with. */
function outputToLogs(logs: Map<string, RevisionLog>, ends: Map<string, number>): OutputLog {
  return {
    async send({ source, from, to, lines }) {
      const end = ends.get(source) ?? 0
      if (from !== end) return end
      for (const { revisionId, attempt, message } of lines)
        logs.get(`${revisionId}.${attempt}`)?.print('deploy', message)
      ends.set(source, to)
      return to
    },
    warn: () => undefined,
  }
}

function withLogs(runtime: ProcessRuntime, logs: Map<string, RevisionLog>): ProcessRuntime {
  const known = ({ id, attempt }: RevisionWork, log: RevisionLog) => logs.set(`${id}.${attempt}`, log)
  return {
    ...runtime,
    deploy(claim, step, log, signal, onProgress) {
      known(step.revision, log)
      return runtime.deploy(claim, step, log, signal, onProgress)
    },
    ensure(claim, run, log) {
      if (run && log) known(run.revision, log)
      runtime.ensure(claim, run, log)
    },
  }
}

function createRepository(root: string, gitDirectory: string, files: Files): Repository {
  const folder = path.join(gitDirectory, `${randomUUID()}.git`)
  const work = fs.mkdtempSync(path.join(root, 'work-'))
  git(work, 'init', '--quiet', '--initial-branch=main')
  git(work, 'init', '--quiet', '--bare', '--initial-branch=main', folder)
  fs.cpSync(AGENT, work, { recursive: true })
  const head = () => git(work, 'rev-parse', 'HEAD')
  const push: Repository['push'] = (changes, { tag, branch = 'main' } = {}) => {
    for (const [name, text] of Object.entries(changes)) {
      const file = path.join(work, name)
      fs.rmSync(file, { force: true, recursive: true })
      if (text?.startsWith('-> ')) fs.symlinkSync(text.slice(3), file)
      else if (text !== null) {
        fs.mkdirSync(path.dirname(file), { recursive: true })
        fs.writeFileSync(file, text)
      }
    }
    git(work, 'add', '--all')
    git(work, 'commit', '--quiet', '--allow-empty', '--message=change')
    if (tag) git(work, 'tag', '--force', tag)
    git(work, 'push', '--quiet', '--force', folder, tag ? `refs/tags/${tag}` : `HEAD:refs/heads/${branch}`)
    return head()
  }
  push(files)
  return { folder, url: `file://${folder}`, head, push }
}

function git(cwd: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
  return execFileSync('git', [...identity, ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()
}

/** A revision of a repository, as in a step. */
export const revisionOf = ({ url }: Repository, changes: Partial<RevisionWork> = {}): RevisionWork =>
  gitRevision(url, changes)

// the process runtime enforces no resources from these values
const spec = {} as Step['spec']

export function stepOf(kind: StepKind, revision: RevisionWork | null, deadlineMs = 60_000): RevisionStep {
  return {
    id: randomUUID(),
    kind,
    tries: 1,
    deadline: performance.now() + deadlineMs,
    secondsLeft: deadlineMs / 1000,
    revision,
    spec,
    secretReferences: [],
    customUrl: null,
  } as RevisionStep
}

export function runOf(revision: RevisionWork): Run {
  return { revision, spec, secretReferences: [], customUrl: null }
}

/** ids of the deployments that `claimOf` made */
const claimed: string[] = []

/** Everybody may call them. */
export const ALL_PUBLIC: AccessSource = {
  async read() {
    const about = { name: null, workspace: 'w', organization: 'o', access: 'public' } as const
    const copy = { deployments: claimed.map((id) => ({ id, ...about })), keys: [], sessions: [], linkKeys: [] }
    return { hash: String(claimed.length), copy }
  },
  settings: () => ({
    issuer: 'http://us',
    hosts: '{name}.localhost',
    secure: false,
    trustProxy: [],
    offlineHours: 24,
    jwt: null,
  }),
  saveCallerKey: async () => undefined,
}

export function claimOf(changes: Partial<LeasedClaim> = {}): LeasedClaim {
  const id = changes.deployment?.id ?? randomUUID()
  claimed.push(id)
  return {
    leaseValid: () => true,
    raiseToken: async () => {
      throw new ClaimLostError()
    },
    claimId: randomUUID(),
    token: '1',
    generation: 1,
    run: null,
    step: null,
    stop: false,
    keepArtifacts: [],
    leaseSeconds: 60,
    deployment: {
      id,
      workspaceId: randomUUID(),
      name: 'agent',
      addressName: null,
      k8sNamespace: null,
      provisioned: true,
    },
    ...changes,
  }
}

/** An agent that answers with its process id. */
export const PID_SERVER = `import http from 'node:http'
http.createServer((q, s) => s.end(String(process.pid))).listen(process.env.PORT, '127.0.0.1')`

/** Builds a revision of a repository with these files. */
export async function buildOn(
  { runtime, repository }: TestMachine,
  claim: LeasedClaim,
  files: Files,
  changes: Partial<RevisionWork> = {},
): Promise<RevisionWork & { artifact: string }> {
  // the agent has no dependencies; build.test.ts tests the installation
  const revision = revisionOf(repository(files), { installCommand: 'true', ...changes })
  const { artifact } = await runtime.build(claim, stepOf('BUILD', revision), memoryLog(), never)
  return { ...revision, artifact }
}

/** Deploys a revision and switches to it. Returns its address. */
export async function deployOn(
  { runtime }: Pick<TestMachine, 'runtime'>,
  claim: LeasedClaim,
  revision: RevisionWork,
  log: RevisionLog = memoryLog(),
  record = async () => true,
): Promise<string> {
  const candidate = await runtime.deploy(claim, stepOf('DEPLOY', revision), log, never)
  await candidate.commit(record)
  return candidate.url
}

/** A log that can be read and waited on. */
export function memoryLog(): RevisionLog & { lines: string[]; seen(pattern: RegExp): Promise<string> } {
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const add: RevisionLog['write'] = (_type, message) => {
    lines.push(message)
    for (const check of waiting) check()
  }
  return {
    lines,
    write: add,
    print: add,
    seen: (pattern) =>
      new Promise((resolve) => {
        const check = () => {
          const line = lines.find((text) => pattern.test(text))
          if (line === undefined) return
          waiting.delete(check)
          resolve(line)
        }
        waiting.add(check)
        check()
      }),
  }
}

/** Kills a deployment's supervisor; its processes keep running. */
export async function killSupervisor({ options }: TestMachine, { deployment }: LeasedClaim): Promise<void> {
  const { lock } = supervisorFiles(options.dataDir, deployment.id)
  const pid = Number.parseInt(fs.readFileSync(lock, 'utf8'), 10)
  process.kill(pid, 'SIGKILL')
  await eventually(() => !alive(pid))
}

export const never = new AbortController().signal

/** Waits until `check` returns a truthy value. */
export async function eventually<T>(check: () => T | Promise<T>, ms = 10_000): Promise<T> {
  const until = performance.now() + ms
  for (;;) {
    const value = await check()
    if (value || performance.now() > until) return value
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    // a zombie is dead
    return !/^\d+ \(.*\) Z/.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return process.platform !== 'linux'
  }
}
