/**
 * Finds a working container engine and runs its command line. It is probed when an image is needed, not at startup; the result is
 * cached for a minute.
 */
import { withTimeout } from '../../../platform/async/time-limit.ts'
import type { OnLine } from '../../output/lines.ts'
import { EMPTY_MASK, type Mask } from '../../output/mask.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { type Exit, runGroup } from '../processes/process-group.ts'
import type { Reaper } from '../processes/reaper.ts'

export type EngineName = 'podman' | 'docker'

export interface EngineOptions {
  reaper: Reaper
  engine: 'auto' | EngineName | 'none'
  env: Record<string, string>
  /** an extra check of an engine that works: what is missing, in words; null: nothing */
  check?: (engine: Engine, signal: AbortSignal) => Promise<string | null>
  /** the error when no engine works; `problems`: the problem of each, in words */
  noEngine?: (problems: string) => StepFailure
}

export interface Engine {
  name: EngineName
  env: Record<string, string>
  /** folder of its images; on the engine's machine */
  storage: string
  supports: { cpu: boolean; memory: boolean; processes: boolean }
  /**
   * Runs the engine's command line to its end; `mask` hides secrets in its output. When the signal aborts, ends the command and
   * throws the signal's reason.
   */
  run(args: string[], onLine: OnLine, signal: AbortSignal, mask?: Mask): Promise<Exit>
}

export type FindEngine = (signal: AbortSignal) => Promise<Engine>

/**
 * Formats for `info` whose output starts with `works` and a version only if containers can run: docker's client alone prints
 * empty values.
 */
const PROBES: Record<EngineName, string> = {
  podman: 'works {{.Version.Version}} {{.Host.CgroupControllers}} in:{{.Store.GraphRoot}}',
  docker:
    'works {{.ServerVersion}} {{if .CPUCfsQuota}}cpu{{end}} {{if .MemoryLimit}}memory{{end}} {{if .PidsLimit}}pids{{end}} in:{{.DockerRootDir}}',
}
const PROBE_MS = 20_000
const CACHE_MS = 60_000

export function createEngineFinder({
  reaper,
  engine: choice,
  env,
  check,
  noEngine = noEngineWorks,
}: EngineOptions): FindEngine {
  let found: { engine: Engine; until: number } | null = null

  async function probe(name: EngineName, signal: AbortSignal): Promise<Engine | string> {
    const run: Engine['run'] = (args, onLine, stop, mask = EMPTY_MASK) =>
      runGroup(reaper, { command: name, args, cwd: '/', env, account: null, mask }, onLine, stop)
    const lines: string[] = []
    try {
      const exit = await withTimeout(PROBE_MS, signal, (inTime) =>
        run(['info', '--format', PROBES[name]], (_, line) => lines.push(line), inTime),
      )
      if (exit.code === 127) return `${name} is not installed`
      // docker's client prints empty values when its daemon is down
      const answer = lines.find((line) => /^works \d/.test(line))
      if (exit.code !== 0 || !answer)
        return `${name} does not work: ${lines.at(-1)?.slice(0, 300) ?? 'it printed nothing'}`
      const [controllers = '', storage = ''] = answer.split(/ in:(.*)/)
      const has = (controller: string) => controllers.split(/[\s[\]]+/).includes(controller)
      const supports = { cpu: has('cpu'), memory: has('memory'), processes: has('pids') }
      const engine: Engine = { name, env, storage, run, supports }
      return (await withTimeout(PROBE_MS, signal, async (inTime) => check?.(engine, inTime))) ?? engine
    } catch (error) {
      if (signal.aborted) throw error
      return `${name} does not answer`
    }
  }

  return async (signal) => {
    if (found && found.until > performance.now()) return found.engine
    const names: EngineName[] = choice === 'auto' ? ['podman', 'docker'] : choice === 'none' ? [] : [choice]
    const problems: string[] = []
    for (const name of names) {
      const engine = await probe(name, signal)
      if (typeof engine !== 'string') {
        found = { engine, until: performance.now() + CACHE_MS }
        return engine
      }
      problems.push(engine)
    }
    found = null
    throw noEngine(problems.join('; '))
  }
}

const noEngineWorks = (problems: string): StepFailure =>
  new StepFailure(
    'TOOL_MISSING',
    [
      `No container engine works on this machine (${problems || 'CONTAINER_ENGINE is none'}), so images can't be run here:`,
      'install podman or docker there and redeploy, or use a listener with a Kubernetes cluster.',
    ].join(' '),
  )

export async function runEngine(
  engine: Engine,
  args: string[],
  signal: AbortSignal,
): Promise<{ ok: boolean; lines: string[] }> {
  const lines: string[] = []
  const { code } = await engine.run(args, (_, line) => lines.push(line), signal)
  return { ok: code === 0, lines }
}
