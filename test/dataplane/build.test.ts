// BUILD on the process runtime: real git, real package managers, real processes.
import { execFileSync, spawnSync } from 'node:child_process'
import dns from 'node:dns'
import { once } from 'node:events'
import fs from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { loadSource } from '../../src/dataplane/build/load-source.ts'
import { EMPTY_MASK } from '../../src/dataplane/output/mask.ts'
import { StepFailure } from '../../src/dataplane/output/step-failure.ts'
import { parseArtifact } from '../../src/dataplane/runtimes/artifact.ts'
import { BuildQueue } from '../../src/dataplane/runtimes/build-queue.ts'
import type { RevisionLog } from '../../src/dataplane/runtimes/runtime.ts'
import type { Progress, RevisionWork } from '../../src/domain/protocol/protocol.ts'
import { needsRoot } from '../support/root.ts'
import {
  alive,
  claimOf,
  eventually,
  memoryLog,
  NO_SOURCES,
  never,
  openTestMachine,
  revisionOf as revisionWithNpm,
  stepOf,
  type TestMachine,
} from './support.ts'

let machine: TestMachine
beforeAll(async () => {
  machine = await openTestMachine()
})
afterAll(() => machine.close())

/** A revision that installs nothing. */
const revisionOf: typeof revisionWithNpm = (repository, changes) =>
  revisionWithNpm(repository, { installCommand: 'true', ...changes })

async function build(revision: RevisionWork, signal = never) {
  const claim = claimOf()
  const log = memoryLog()
  let repoCommitSha: string | null = null
  const built = await machine.runtime.build(claim, stepOf('BUILD', revision), log, signal, (commit) => {
    repoCommitSha = commit
  })
  const app = path.join(machine.options.dataDir, 'apps', claim.deployment.id)
  return {
    ...built,
    repoCommitSha,
    log,
    app,
    tree: path.join(app, 'artifacts', parseArtifact(built.artifact).name, 'tree'),
  }
}

test('a branch is built at its exact commit', async () => {
  const repository = machine.repository()
  const { repoCommitSha, tree, app, log } = await build(revisionWithNpm(repository))
  expect(repoCommitSha).toBe(repository.head())
  expect(fs.readFileSync(path.join(tree, 'greeting.txt'), 'utf8')).toBe('Hello from version 1\n')
  expect(fs.existsSync(path.join(tree, '.git'))).toBe(false)
  expect(fs.readdirSync(path.join(app, 'builds'))).toEqual([])
  expect(log.lines).toContain('$ npm ci')
})

test('a build log starts with the plan, and the progress names the fetch while the source is fetched', async () => {
  const log = memoryLog()
  const seen: { message: string | null; lines: number }[] = []
  const revision = revisionWithNpm(machine.repository(), { secrets: [{ name: 'MODE', value: 'dev' }] })
  await machine.runtime.build(claimOf(), stepOf('BUILD', revision), log, never, undefined, (progress) =>
    seen.push({ message: progress?.message ?? null, lines: log.lines.length }),
  )
  expect(seen).toContainEqual({ message: 'Fetching refs/heads/main.', lines: 0 })
  expect(seen.at(-1)?.message).toBe(null)
  expect(log.lines.slice(0, 5)).toEqual([
    expect.stringMatching(/^Build plan: Node, installed by "npm ci", /),
    "Values with fewer than 4 characters can't be hidden in logs: MODE",
    'Fetching refs/heads/main',
    expect.stringMatching(/^Commit [0-9a-f]{40}$/),
    '$ npm ci',
  ])
})

test('the log of a build without a plan contains the attempt and ends with the reason', async () => {
  const log = memoryLog()
  const step = stepOf('BUILD', revisionOf(machine.repository(), { repoRef: 'nowhere' }))
  const told: (string | undefined)[] = []
  const built = machine.runtime.build(claimOf(), step, log, never, undefined, (progress) =>
    told.push(progress?.message),
  )
  await expect(built).rejects.toThrow(/no such branch or tag/)
  expect(told).toContain('Fetching refs/heads/nowhere.')
  expect(log.lines[0]).toBe('Fetching refs/heads/nowhere')
  expect(log.lines.at(-1)).toMatch(/no such branch or tag/)
})

test('each progress message of a build is one sentence with one full stop', async () => {
  const told: string[] = []
  const work = async (head: RevisionLog) => {
    for (const line of ['Commit abc', 'fatal: Could not read from remote repository.', 'Why?'])
      head.write('build', line)
  }
  const onProgress = (progress: Progress | null) => void (progress && told.push(progress.message))
  await new BuildQueue(1).run({ log: memoryLog(), signal: never, onProgress }, work)
  expect(told).toEqual(['Commit abc.', 'fatal: Could not read from remote repository.', 'Why?'])
})

test('a tag is built even where a branch has the same name', async () => {
  const repository = machine.repository()
  const tagged = repository.push({ 'greeting.txt': 'tagged\n' }, { tag: 'v1' })
  repository.push({ 'greeting.txt': 'branch\n' }, { branch: 'v1' })
  const built = await build(revisionOf(repository, { repoRef: 'refs/tags/v1' }))
  expect(built.repoCommitSha).toBe(tagged)
  const branch = await build(revisionOf(repository, { repoRef: 'v1' }))
  expect(fs.readFileSync(path.join(branch.tree, 'greeting.txt'), 'utf8')).toBe('branch\n')
})

test('a rebuild uses the recorded commit, not the branch’s present one', async () => {
  const repository = machine.repository()
  const first = repository.head()
  repository.push({ 'greeting.txt': 'newer\n' })
  const built = await build(revisionOf(repository, { repoCommitSha: first }))
  expect(built.repoCommitSha).toBe(first)
  const gone = revisionOf(repository, { repoCommitSha: 'c0ffee'.padEnd(40, '0') })
  await expect(build(gone)).rejects.toThrow(/no longer exists in the repository/)
})

test('a missing start script fails the build and says so', async () => {
  const repository = machine.repository({ 'package.json': '{"name":"x"}', 'package-lock.json': null })
  await expect(build(revisionOf(repository))).rejects.toThrow(/"package.json" has no "start" script/)
})

test('the message names a missing branch or configuration file', async () => {
  const repository = machine.repository()
  await expect(build(revisionOf(repository, { repoRef: 'nowhere' }))).rejects.toThrow(/no such branch or tag/)
  await expect(build(revisionOf(repository, { graphConfigPath: 'other.json' }))).rejects.toThrow(/no file "other.json"/)
})

test.each(['--upload-pack=touch x', '-x', 'a..b', 'a b', 'refs/tags/', 'a/-b', 'x.lock', '@{-1}', 'a:b', ''])(
  'the ref %j is refused',
  async (repoRef) => {
    await expect(build(revisionOf(machine.repository(), { repoRef }))).rejects.toThrow(/repo_ref/)
  },
)

test.each([
  '--upload-pack=x',
  'ext::sh -c id',
  'git://example.com/x',
  'http://example.com/x',
  'ssh://-oProxyCommand=id/x',
  '-oProxyCommand=id@host:x',
  'file://host/x',
  'nonsense',
])('the URL %j is refused', async (repoUrl) => {
  await expect(build(revisionOf(machine.repository(), { repoUrl }))).rejects.toThrow(/not allowed/)
})

test('a repository outside GIT_DIRECTORY is refused, also through a symlink or ".."', async () => {
  const repository = machine.repository()
  const outside = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-outside-'))
  fs.cpSync(repository.folder, path.join(outside, 'repo.git'), { recursive: true })
  const link = path.join(machine.options.gitDirectory, 'link.git')
  fs.symlinkSync(path.join(outside, 'repo.git'), link)
  const dots = `${machine.options.gitDirectory}/../../${path.basename(outside)}/repo.git`
  for (const repoUrl of [
    `file://${outside}/repo.git`,
    `file://${link}`,
    dots,
    `file://${machine.options.gitDirectory}`,
  ])
    await expect(build(revisionOf(repository, { repoUrl }))).rejects.toThrow(/below GIT_DIRECTORY/)
  fs.rmSync(outside, { recursive: true })
})

/** A server that answers HTTP with 404 and closes any other connection. */
async function strangeHost(onConnection: (first: string) => void) {
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (bytes) => {
      onConnection(bytes.toString('latin1'))
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, close: () => server.close() }
}

test('git connects to private addresses that OUTBOUND_ALLOW names, and to no others', async () => {
  let connections = 0
  const host = await strangeHost(() => connections++)
  const allowing = await openTestMachine({ outboundAllow: ['127.0.0.0/8'] })
  const fetchedBy = ({ runtime }: TestMachine, repoUrl: string) =>
    runtime.build(claimOf(), stepOf('BUILD', revisionOf(machine.repository(), { repoUrl })), memoryLog(), never)
  try {
    for (const name of ['127.0.0.1', 'localhost'])
      await expect(fetchedBy(machine, `http://${name}:${host.port}/x.git`)).rejects.toThrow(
        `The repository host ${name} is at a private address: add ${name} to OUTBOUND_ALLOW where the build runs`,
      )
    await expect(fetchedBy(machine, `git@localhost:x.git`)).rejects.toThrow('add localhost to OUTBOUND_ALLOW')
    await expect(fetchedBy(machine, 'https://[::ffff:10.0.0.1]/x.git')).rejects.toThrow('is at a private address')
    expect(connections).toBe(0)
    await expect(fetchedBy(allowing, `http://127.0.0.1:${host.port}/x.git`)).rejects.toThrow('was not found')
    expect(connections).toBeGreaterThan(0)
  } finally {
    await allowing.close()
    host.close()
  }
})

test('git and ssh connect to the checked address, even if the name resolves to another one later', async () => {
  const heard: string[] = []
  const host = await strangeHost((first) => heard.push(first))
  const allowing = await openTestMachine({ outboundAllow: ['127.0.0.1'] })
  // only this test can resolve the name
  const lookUp = vi.spyOn(dns.promises, 'lookup').mockResolvedValue([{ address: '127.0.0.1', family: 4 }] as never)
  try {
    for (const repoUrl of [`https://git.invalid.:${host.port}/x.git`, `ssh://git@git.invalid:${host.port}/x.git`]) {
      const step = stepOf('BUILD', revisionOf(machine.repository(), { repoUrl }))
      await expect(allowing.runtime.build(claimOf(), step, memoryLog(), never)).rejects.toThrow(StepFailure)
    }
    expect(
      heard.map((first) => (first.startsWith('SSH-2.0') ? 'ssh' : first.includes('git.invalid') && 'tls')),
    ).toEqual(['tls', 'ssh'])
  } finally {
    lookUp.mockRestore()
    await allowing.close()
    host.close()
  }
})

test.skipIf(needsRoot('git with an account'))(
  'git for another host runs neither as root nor as the agent',
  async () => {
    let uids: number[] = []
    const host = await strangeHost(() => {
      uids = fs.readdirSync('/proc').flatMap((pid) => {
        try {
          const command = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8')
          return command.includes(`127.0.0.1:${host.port}`) ? [fs.statSync(`/proc/${pid}`).uid] : []
        } catch {
          return []
        }
      })
    })
    const allowing = await openTestMachine({ outboundAllow: ['127.0.0.1'] })
    const claim = claimOf()
    try {
      const repoUrl = `http://127.0.0.1:${host.port}/x.git`
      const step = stepOf('BUILD', revisionOf(machine.repository(), { repoUrl }))
      await expect(allowing.runtime.build(claim, step, memoryLog(), never)).rejects.toThrow('was not found')
      const home = path.join(allowing.options.dataDir, 'apps', claim.deployment.id, 'home')
      expect(uids.length).toBeGreaterThan(0)
      expect(uids).not.toContain(0)
      expect(uids).not.toContain(fs.statSync(home).uid)
    } finally {
      await allowing.close()
      host.close()
    }
  },
)

test('a symlink out of the repository is not followed', async () => {
  const secret = path.join(machine.options.dataDir, 'secret.json')
  fs.writeFileSync(secret, '{"graphs":{"a":"x:y"}}', { mode: 0o600 })
  await expect(build(revisionOf(machine.repository({ 'graph.json': `-> ${secret}` })))).rejects.toThrow(/is outside/)
  await expect(build(revisionOf(machine.repository({ 'package.json': `-> ${secret}` })))).rejects.toThrow(/is outside/)
  const up = revisionOf(machine.repository(), { graphConfigPath: '../../database.json' })
  await expect(build(up)).rejects.toThrow(/must be a path within the source/)
})

test('hooks and filters of a repository are not run', async () => {
  const repository = machine.repository({ '.gitattributes': '*.txt filter=evil export-ignore\n' })
  const marker = path.join(machine.options.dataDir, 'ran')
  fs.mkdirSync(path.join(repository.folder, 'hooks'), { recursive: true })
  for (const hook of ['post-checkout', 'pre-upload'])
    fs.writeFileSync(path.join(repository.folder, 'hooks', hook), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 })
  fs.appendFileSync(path.join(repository.folder, 'config'), `[filter "evil"]\n\tsmudge = touch ${marker}\n`)
  const { tree } = await build(revisionOf(repository))
  expect(fs.existsSync(marker)).toBe(false)
  expect(fs.existsSync(path.join(tree, 'greeting.txt'))).toBe(true)
})

test('install and build commands run in their folders, and their output is logged line by line', async () => {
  const repository = machine.repository({
    'agents/one/graph.json': '{"graphs":{"a":"./a.js:g"}}',
    'agents/one/package.json': '{"scripts":{"start":"node x"}}',
  })
  const { log, tree } = await build(
    revisionOf(repository, {
      graphConfigPath: 'agents/one/graph.json',
      installCommand: 'basename "$PWD"; printf "one\\ntwo"; touch installed',
      buildCommand: 'basename "$PWD"; touch built',
    }),
  )
  expect(log.lines).toEqual(expect.arrayContaining(['tree', 'one', 'two']))
  expect(fs.existsSync(path.join(tree, 'installed'))).toBe(true)
  expect(fs.existsSync(path.join(tree, 'agents/one/built'))).toBe(true)
})

test('the message of a failed command has its exit code and last lines', async () => {
  const revision = revisionOf(machine.repository(), { buildCommand: 'echo almost; echo broken >&2; exit 3' })
  await expect(build(revision)).rejects.toThrow(/Build command "[^"]*" failed with exit code 3: .*\nalmost\nbroken$/s)
})

test.each([
  [
    'npm error code E404\nnpm error 404 Not Found - GET https://r/no-such-package - Not found\nnpm error 404',
    /^npm error 404 Not Found - GET .*no-such-package/,
  ],
  [
    'ERROR: Could not find a version that satisfies the requirement nothing\nERROR: No matching distribution found for nothing',
    /^ERROR: No matching distribution found for nothing$/,
  ],
  ["src/a.ts(1,7): error TS2322: Type 'x'\nnpm error code 2\nnpm error path /x", /^src\/a\.ts\(1,7\): error TS2322/],
  ['#8 1.234 npm error 404 no-such-package\nERROR: failed to solve: process', /^npm error 404 no-such-package$/],
  ['x\n    at y\nTypeError: hunter2-hunter2 is no function', /^TypeError: •+ is no function$/],
])('the message of a failed command begins with the line that names its cause: %j', async (output, cause) => {
  const secrets = [{ name: 'TOKEN', value: 'hunter2-hunter2' }]
  const buildCommand = `printf '${output.replaceAll("'", "'\\''").replaceAll('\n', '\\n')}\n' >&2; exit 1`
  const failure = await build(revisionOf(machine.repository(), { secrets, buildCommand })).catch((error) => error)
  expect(failure.message.split('\n')[0]).toMatch(cause)
  expect(failure.message).toMatch(/\nBuild command .* failed with exit code 1/s)
})

test('a path in a build log contains the deployment’s id, although npm treats the id as a secret', async () => {
  const claim = claimOf()
  const log = memoryLog()
  const scripts = { start: 'node agent.js', postinstall: 'exit 7' }
  const repository = machine.repository({
    'package.json': JSON.stringify({ name: 'agent', version: '1.0.0', scripts }),
    'package-lock.json': null,
  })
  const step = stepOf('BUILD', revisionWithNpm(repository))
  await expect(machine.runtime.build(claim, step, log, never)).rejects.toThrow('exit code 7')
  const text = log.lines.join('\n')
  expect(text).toContain(`apps/${claim.deployment.id}/home`)
  expect(text).not.toContain('***')
})

test('a cancelled build ends all processes that it started', async () => {
  const cancel = new AbortController()
  const log = memoryLog()
  const revision = revisionOf(machine.repository(), {
    // a grandchild that ignores the first signal
    installCommand: "sh -c 'trap : TERM; echo child $$; while :; do sleep 1; done' & wait",
  })
  const building = machine.runtime.build(claimOf(), stepOf('BUILD', revision), log, cancel.signal)
  const pid = Number((await log.seen(/^child \d+/)).split(' ')[1])
  cancel.abort(new Error('withdrawn'))
  await expect(building).rejects.toThrow('withdrawn')
  expect(await eventually(() => !alive(pid), 1000)).toBe(true)
})

test('the server’s environment variables are not in a build’s environment', async () => {
  vi.stubEnv('SERVER_ONLY', 'server-only')
  const revision = revisionOf(machine.repository(), {
    secrets: [{ name: 'MINE', value: 'mine' }],
    buildCommand: 'env > env',
  })
  const { tree } = await build(revision)
  const names = fs
    .readFileSync(path.join(tree, 'env'), 'utf8')
    .split('\n')
    .flatMap((line) => line.split('=')[0] || [])
  const own = [
    'CI',
    'COREPACK_ENABLE_DOWNLOAD_PROMPT',
    'npm_config_audit',
    'npm_config_fund',
    'npm_config_update_notifier',
    'PIP_DISABLE_PIP_VERSION_CHECK',
    'PIP_NO_INPUT',
    'PIP_PROGRESS_BAR',
    'UV_COMPILE_BYTECODE',
    'UV_LINK_MODE',
    'UV_NO_PROGRESS',
    'UV_PYTHON_DOWNLOADS',
  ]
  const ours = [
    'DATABASE_URI',
    'HOME',
    'LOGNAME',
    'MINE',
    'PATH',
    'PILOTHOUSE_DEPLOYMENT_ID',
    'PILOTHOUSE_PROCESS_GROUP',
    'PILOTHOUSE_REVISION_ID',
    'POSTGRES_URI',
    'TMPDIR',
    'USER',
  ]
  // the shell adds the last two
  expect(names.sort()).toEqual([...own, ...ours, 'PWD', 'OLDPWD'].filter((name) => names.includes(name)).sort())
  expect(names).toEqual(expect.arrayContaining(ours))
})

test('a build log names Git LFS files and submodules that are deployed without content', async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 3\n`
  const models = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`models/${10 + i}.bin`, pointer]))
  const files = { '.gitattributes': '*.bin filter=lfs\n', 'whole.bin': 'content', ...models }
  const repository = machine.repository(files)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@localhost', ...args], {
      cwd: repository.folder,
      encoding: 'utf8',
    }).trim()
  git('read-tree', 'main')
  git('update-index', '--add', '--cacheinfo', `160000,${repository.head()},vendor/tools`)
  git('update-ref', 'refs/heads/main', git('commit-tree', '-m', 'x', '-p', 'main', git('write-tree')))
  const { log } = await build(revisionOf(repository))
  const named = Array.from({ length: 10 }, (_, i) => `models/${10 + i}.bin`).join(', ')
  expect(log.lines).toContain(
    `Git LFS content is not fetched: 12 files (${named}, … and 2 more) will contain only a pointer.`,
  )
  expect(log.lines).toContain('Submodules are not fetched: 1 folder (vendor/tools) will be empty.')
})

test('a build whose git folder can’t be removed fails, and does not end the server', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-build-'))
  const revision = revisionOf(machine.repository())
  const bring = loadSource(
    {
      revision,
      folder,
      gitDirectory: machine.options.gitDirectory,
      sources: machine.options.sources,
      credentials: null,
      searchPath: process.env.PATH!,
      outboundAllow: [],
      gitAccount: () => null,
      reclaim: async () => undefined,
      async run({ command, args, env }, onLine) {
        // git's first command here makes its own folder undeletable
        if (fs.statSync(folder).isDirectory()) {
          fs.rmSync(folder, { recursive: true })
          fs.writeFileSync(folder, '')
        }
        const { status, stdout } = spawnSync(command, args, { env, encoding: 'utf8' })
        for (const line of stdout.split('\n')) onLine(EMPTY_MASK(line), line, null)
        return { code: status, signal: null }
      },
      log: () => undefined,
      onCommit: () => undefined,
      signal: never,
    },
    path.join(folder, 'tree'),
  )
  await expect(bring).rejects.toThrow(StepFailure)
  // an unhandled rejection would fail this test run
  await new Promise((resolve) => setTimeout(resolve))
  fs.rmSync(folder, { force: true })
})

test('a build that ignores its cancellation can be destroyed, so the next one can start', async () => {
  const most = Math.max(2, os.availableParallelism())
  const deaf = await openTestMachine({ sources: { ...NO_SOURCES, gitCredentials: () => new Promise(() => undefined) } })
  const steps = Array.from({ length: most }, () => stepOf('BUILD', revisionOf(machine.repository())))
  const abort = new AbortController()
  const builds = steps.map((step) => deaf.runtime.build(claimOf(), step, memoryLog(), abort.signal))
  const tarball = { source: 'internal_source' } as const
  const next = deaf.runtime.build(
    claimOf(),
    stepOf('BUILD', revisionOf(machine.repository(), tarball)),
    memoryLog(),
    never,
  )
  abort.abort(new Error('enough'))
  const ends = Promise.allSettled(builds)
  for (const step of steps) await deaf.runtime.destroy(step.id)
  for (const end of await ends) expect(end).toMatchObject({ status: 'rejected' })
  // its turn has come
  await expect(next).rejects.toThrow('no tarballs here')
  await deaf.close()
})

test('the processes of a destroyed build are killed', async () => {
  const log = memoryLog()
  const step = stepOf(
    'BUILD',
    revisionOf(machine.repository(), { buildCommand: "trap '' TERM; echo pid $$; while :; do sleep 1; done" }),
  )
  const building = machine.runtime.build(claimOf(), step, log, never)
  const pid = Number((await log.seen(/^pid /)).split(' ')[1])
  await Promise.all([expect(building).rejects.toThrow(), machine.runtime.destroy(step.id)])
  expect(alive(pid)).toBe(false)
})

test('a build that waits for other builds on this machine says so', async () => {
  const most = Math.max(2, os.availableParallelism())
  const abort = new AbortController()
  const revision = revisionOf(machine.repository(), { buildCommand: 'echo begun; sleep 60' })
  const logs = Array.from({ length: most + 1 }, () => memoryLog())
  const builds = logs.map((log) => machine.runtime.build(claimOf(), stepOf('BUILD', revision), log, abort.signal))
  expect(await logs.at(-1)!.seen(/./)).toBe(`Waiting for its turn: this machine builds ${most} at a time`)
  await logs[0]!.seen(/^begun$/)
  expect(logs.map((log) => log.lines.some((line) => line.startsWith('Waiting'))).filter(Boolean)).toHaveLength(1)
  abort.abort(new Error('enough'))
  const ends = await Promise.allSettled(builds)
  expect(ends.map(({ status }) => status)).toEqual(builds.map(() => 'rejected'))
})

test('the message for a lock file that does not match starts with npm’s first error, not with its usage text', async () => {
  const repository = machine.repository({
    'package.json': JSON.stringify({
      name: 'agent',
      version: '1.0.0',
      scripts: { start: 'node agent.js' },
      dependencies: { left: 'file:./left' },
    }),
    'left/package.json': '{"name":"left","version":"1.0.0"}',
  })
  const failure: Error = await build(revisionWithNpm(repository)).then(
    () => expect.unreachable(),
    (error) => error,
  )
  const lines = failure.message.split('\n')
  expect(lines[0]).toMatch(/^npm error .*can only install packages when/)
  expect(lines[1]).toBe('Install command "npm ci" failed with exit code 1: the build log has its output.')
  expect(lines.slice(2, 5)).toEqual([
    'npm error code EUSAGE',
    expect.stringContaining('can only install packages when'),
    'npm error Missing: left@1.0.0 from lock file',
  ])
  // followed by the last lines of output
  expect(lines.at(-1)).toMatch(/^npm error A complete log of this run/)
  expect(lines.length).toBeLessThanOrEqual(19)
})

test('artifacts that are no longer needed are removed', async () => {
  const claim = claimOf()
  const names: string[] = []
  for (let i = 0; i < 2; i++) {
    const revision = revisionOf(machine.repository())
    names.push(
      parseArtifact((await machine.runtime.build(claim, stepOf('BUILD', revision), memoryLog(), never)).artifact).name,
    )
  }
  machine.runtime.ensure(claim, null, null)
  // without its kind, as written by earlier versions
  await machine.runtime.prune(claim.deployment.id, [names[1]!])
  const folder = path.join(machine.options.dataDir, 'apps', claim.deployment.id, 'artifacts')
  expect(fs.readdirSync(folder)).toEqual([names[1]])
})

test('secret values appear in no log and no message of a failed build, even where output is cut', async () => {
  const value = 'sk-live-0123456789abcdefghijklmnopqrstuv'
  const output = [`${'.'.repeat(261)}%s`, `${'.'.repeat(8190)}%s`, '%s', 'a=%s'].map((it) => `printf '${it}\\n' "$KEY"`)
  const encoded = `printf 'me:%s' "$KEY" | base64; printf '%s' "$KEY" | fold -w 13`
  const revision = revisionOf(machine.repository(), {
    secrets: [
      { name: 'KEY', value },
      { name: 'PEM', value: 'first-line\nsecond-line' },
      { name: 'MODE', value: 'dev' },
    ],
    buildCommand: [...output, encoded, 'echo "$PEM"; echo "$DATABASE_URI"', 'exit 1'].join('; '),
  })
  const log = memoryLog()
  const claim = claimOf()
  const failure = await machine.runtime.build(claim, stepOf('BUILD', revision), log, never).catch((error) => error)
  expect(failure).toBeInstanceOf(StepFailure)
  const file = path.join(machine.options.dataDir, 'apps', claim.deployment.id, 'database.json')
  const { password } = JSON.parse(fs.readFileSync(file, 'utf8'))
  const shown = `${failure.message}\n${log.lines.join('')}`
  expect(shown).toContain('a=••••••••')
  for (let at = 0; at + 8 <= value.length; at++) expect(shown).not.toContain(value.slice(at, at + 8))
  const base64 = Buffer.from(`me:${value}`).toString('base64').slice(8, 16)
  for (const hidden of [base64, 'first-line', 'second-line', password]) expect(shown).not.toContain(hidden)
  expect(log.lines[1]).toBe("Values with fewer than 4 characters can't be hidden in logs: MODE")
})
