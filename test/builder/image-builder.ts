/** A fixture for image builds from git repositories, with an engine and a registry: both real, or both stand-ins. */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createSourceBuilder, type SourceBuilderOptions } from '../../src/dataplane/builder/source-builder.ts'
import type { RevisionStep, SourceBuilder } from '../../src/dataplane/runtimes/runtime.ts'
import { NO_SOURCES, stepOf } from '../dataplane/support.ts'
import { BASE, type TestEngine } from '../support/engine/engine.ts'
import { gitRevision } from '../support/revision-work.ts'
import { openRegistry, type PushRegistry } from './registry.ts'

export interface ImageBuilderFixture {
  root: string
  engine: TestEngine
  registry: PushRegistry
  /** the builder's options, except its functions */
  settings: BuilderSettings
  open(changes?: Partial<SourceBuilderOptions>): SourceBuilder
  /** a command for RUN steps that do not end; unique for this fixture */
  sleep: string
  /** A BUILD step of a new repository with these files. */
  step(files: Record<string, string>, revision?: object): RevisionStep
  /** What builds left behind; `dataDir`: of another server. */
  leftovers(dataDir?: string): typeof NO_LEFTOVERS
  close(): void
}

export type BuilderSettings = Omit<SourceBuilderOptions, 'store' | 'sources' | 'warn'>

export const NO_LEFTOVERS = { folders: [] as string[], containers: [] as string[], processes: [] as string[] }

const GRAPHS = { 'graph.json': '{"graphs": {"agent": "./agent.js:graph"}}' }

export async function openImageBuilder(
  openEngine: (folder: string) => Promise<TestEngine>,
): Promise<ImageBuilderFixture> {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-images-')))
  fs.mkdirSync(path.join(root, 'engine'))
  const engine = await openEngine(path.join(root, 'engine'))
  const registry = await openRegistry(root, engine.real)
  const opened: SourceBuilder[] = []
  const sleep = `sleep 4713.${process.pid}${Date.now()}`
  const settings: BuilderSettings = {
    engine: engine.name,
    env: engine.env,
    dataDir: path.join(root, 'data'),
    outboundAllow: ['127.0.0.1'],
    gitDirectory: path.join(root, 'git'),
    freeDiskMb: 0,
    servers: { node: null, python: null },
    packageIndexes: {},
    base: { node: BASE, python: BASE },
    maxBuilds: 5,
    // an engine that is slow on a busy machine must not hit the timeout
    pruneTimeoutMs: 240_000,
  }
  return {
    ...{ root, engine, registry, settings, sleep },
    open(changes = {}) {
      const warn: SourceBuilderOptions['warn'] = (about, message) => console.warn(message, about)
      const builds = createSourceBuilder({
        ...settings,
        ...{ store: registry.store, sources: NO_SOURCES, warn },
        ...changes,
      })
      opened.push(builds)
      return builds
    },
    step: (files, revision) => stepOfRepository(root, { ...GRAPHS, ...files }, revision),
    leftovers(dataDir = settings.dataDir) {
      const folders = fs.readdirSync(path.join(dataDir, 'images/builds'))
      return {
        folders,
        containers: engine.workingContainers(dataDir),
        processes: [...processesOf(dataDir), ...processesOf(sleep)],
      }
    },
    close() {
      for (const builds of opened) builds.close()
      registry.close()
      engine.close()
      fs.rmSync(root, { recursive: true, force: true })
    },
  }
}

function stepOfRepository(root: string, files: Record<string, string>, revision: object = {}): RevisionStep {
  const bare = path.join(root, 'git', `${randomUUID()}.git`)
  const work = fs.mkdtempSync(path.join(root, 'work-'))
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@localhost', ...args], { cwd: work })
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(work, name), text)
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', bare])
  git('init', '--quiet', '--initial-branch=main')
  git('add', '--all')
  git('commit', '--quiet', '--message', 'One')
  git('push', '--quiet', bare, 'main')
  return stepOf('BUILD', gitRevision(`file://${bare}`, revision))
}

/** Command lines of processes that have this text in their command line, environment or mounts. */
function processesOf(text: string): string[] {
  const read = (pid: string, what: string) => {
    try {
      return fs.readFileSync(`/proc/${pid}/${what}`, 'utf8')
    } catch {
      return '' // the process is gone
    }
  }
  const pids = fs.readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
  return pids
    .filter((pid) => ['cmdline', 'environ', 'mountinfo'].some((what) => read(pid, what).includes(text)))
    .map((pid) => read(pid, 'cmdline').replaceAll('\0', ' '))
    .filter(Boolean)
}
