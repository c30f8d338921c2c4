/**
 * Tracks deployments' containers. A container outlives its client, so its name is recorded in `apps/<deployment>/containers/`
 * before it starts. Its supervisor removes it; if the supervisor was killed, a sweep finds it by labels.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { withTimeout } from '../../../platform/async/time-limit.ts'
import { StepFailure } from '../../output/step-failure.ts'
import type { AppLayout } from '../isolation/layout.ts'
import { readProc } from '../processes/proc.ts'
import { createEngineFinder, type Engine, type EngineOptions, type FindEngine, runEngine } from './engine.ts'

const ENGINE_TIMEOUT_MS = 30_000
const never = new AbortController().signal

export interface ContainersOptions extends EngineOptions {
  /** DATA_DIR of the server: distinguishes its containers from another server's on the same machine */
  dataDir: string
  app: (deploymentId: string) => AppLayout
}

export interface PlannedContainer {
  name: string
  labels: string[]
  envFile: string
}

export class Containers {
  readonly engine: FindEngine
  readonly folder: string
  readonly #app: (deploymentId: string) => AppLayout
  readonly #server: string

  constructor(options: ContainersOptions) {
    this.engine = createEngineFinder(options)
    this.#app = options.app
    this.folder = path.join(options.dataDir, 'containers')
    fs.mkdirSync(this.folder, { recursive: true, mode: 0o700 })
    this.#server = createHash('sha256').update(fs.realpathSync(options.dataDir)).digest('hex').slice(0, 16)
  }

  /** `key`: of its agent's plan */
  plan(deploymentId: string, key: string): PlannedContainer {
    const number = createHash('sha256').update(key).digest('hex').slice(0, 8)
    const name = `pilothouse-${deploymentId}-${number}`
    const folder = this.#notes(deploymentId)
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    fs.writeFileSync(path.join(folder, name), '', { mode: 0o600 })
    return { name, labels: this.#labels(deploymentId), envFile: path.join(folder, `${name}.env`) }
  }

  /**
   * Removes a deployment's containers except those named in `living`, which agents use. Calls the engine only if others were
   * recorded. Throws StepFailure when a container may remain.
   */
  async sweep(deploymentId: string, living: readonly string[] = []): Promise<void> {
    const folder = this.#notes(deploymentId)
    const notes = fs.existsSync(folder) ? fs.readdirSync(folder) : []
    const left = notes.filter((plan) => !living.includes(path.basename(plan, '.env')))
    if (left.length === 0) return
    const engine = await this.engine(never)
    const labels = this.#labels(deploymentId)
    const names = (await listContainers(engine, labels)).filter((name) => !living.includes(name))
    if (!(await removeContainers(engine, names, labels)))
      throw new StepFailure(
        'TEARDOWN_FAILED',
        `Containers of this deployment could not be removed: remove ${names.join(', ')} by hand.`,
      )
    for (const note of left) fs.rmSync(path.join(folder, note), { force: true })
  }

  /** The first process of each of these containers, by its name. Left out: it does not run, or on another machine. */
  async pids(names: readonly string[]): Promise<Map<string, number>> {
    if (names.length === 0) return new Map()
    const engine = await this.engine(never)
    const { lines } = await withTimeout(ENGINE_TIMEOUT_MS, never, (inTime) =>
      runEngine(engine, ['container', 'inspect', '--format', '{{.Name}} {{.Id}} {{.State.Pid}}', ...names], inTime),
    )
    return new Map(
      lines.flatMap((line): [string, number][] => {
        const [, name = '', id = '', pid = ''] = /^\/?(\S+) ([0-9a-f]{64}) (\d+)$/.exec(line) ?? []
        return id !== '' && readProc(`${pid}/cgroup`).includes(id) ? [[name, Number(pid)]] : []
      }),
    )
  }

  #notes(deploymentId: string): string {
    return path.join(this.#app(deploymentId).root, 'containers')
  }

  #labels(deploymentId: string): string[] {
    return [`pilothouse.server=${this.#server}`, `pilothouse.deployment=${deploymentId}`]
  }
}

async function listContainers(engine: Engine, labels: string[]): Promise<string[]> {
  const filters = labels.flatMap((label) => ['--filter', `label=${label}`])
  const { ok, lines } = await withTimeout(ENGINE_TIMEOUT_MS, never, (inTime) =>
    runEngine(engine, ['ps', '--all', ...filters, '--format', '{{.Names}}'], inTime),
  )
  if (!ok)
    throw new StepFailure(
      'TOOL_MISSING',
      `${engine.name} can't list its containers: ${lines.at(-1) ?? 'it printed nothing'}`,
    )
  return lines.filter((line) => line.startsWith('pilothouse-'))
}

async function removeContainers(engine: Engine, names: string[], labels: string[]): Promise<boolean> {
  // engines answer differently for a container that is already gone, so only the list of existing containers counts
  if (names.length > 0)
    await withTimeout(ENGINE_TIMEOUT_MS, never, (inTime) => runEngine(engine, ['rm', '--force', ...names], inTime))
  const there = new Set(await listContainers(engine, labels))
  return names.every((name) => !there.has(name))
}
