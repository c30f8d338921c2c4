/**
 * Runs one try of a build in its own folder: load the source, plan, install, build. The runtime passes `run` and `chownToBuild`,
 * so this code knows nothing of accounts and processes.
 */
import fs from 'node:fs'
import path from 'node:path'
import { OutputTail } from '../output/lines.ts'
import { NO_SPACE_MESSAGE, NO_SPACE_OUTPUT, StepFailure } from '../output/step-failure.ts'
import { loadSource, planSource, type SourceRequest, warnOfUnusedHealthPath } from './load-source.ts'
import type { BuildPlan, DockerfilePlan, NodePlan, PythonPlan } from './plan/build-plan.ts'
import { describeStep, hidePasswords } from './plan/describe-plan.ts'
import type { SuppliedServers } from './plan/plan-build.ts'

export interface BuildRequest extends SourceRequest {
  hasProgram: (program: string) => boolean
  env: Record<string, string>
  /** makes the build's account the owner of a folder and its contents */
  chownToBuild: (folder: string) => Promise<void>
  onPlan: (plan: BuildPlan) => void
  servers: SuppliedServers
  prepare: (plan: NodePlan | PythonPlan) => Promise<PreparedEnvironment>
  /** builds an image from a tree with a Dockerfile; returns the artifact */
  buildImage: (plan: DockerfilePlan, tree: string) => Promise<string>
}

export interface PreparedEnvironment {
  env: Record<string, string>
  /** the supplied agent server; null: none was needed */
  agentServer: string | null
}

/** What a start needs to know about an artifact. Stored next to its tree, where the artifact's code can't change it. */
export interface ArtifactManifest {
  /** folder that the start script runs in, relative to the root of the source */
  folder: string
  prestart: string | null
  start: string
  /** absent: written by a version that built only Node */
  kind?: 'node' | 'python'
  /** agent server that serves it; absent, like the members below, when it brings its own server */
  agentServer?: string
  graphConfig?: string
  importable?: string[]
  healthPath?: string
}

/** Lines that name the cause. npm, pip and uv print them first, followed by long usage text. */
const ERROR_LINE = /^(npm (error|ERR!) +\S|ERROR: |error: )/

/** Returns the artifact of an image if the plan makes one; null: the artifact is in the folder. Throws StepFailure. */
export async function buildSource(request: BuildRequest): Promise<string | null> {
  const { revision, folder, run, log } = request
  const tree = path.join(folder, 'tree')
  const hint = await loadSource(request, tree)

  // read everything from the tree before any of its code has run
  const plan = planSource(tree, revision, request.servers, hint, log)
  request.onPlan(plan)
  if (plan.kind === 'dockerfile') {
    warnOfUnusedHealthPath(plan, revision, log)
    return request.buildImage(plan, tree)
  }
  const { kind, start, install } = plan
  const steps = install.map((step) => ({ ...step, command: withManager(step.command, request.hasProgram) }))
  request.phase?.('prepare the environment')
  const { env, agentServer } = await request.prepare(plan)
  const built = { ...request, env: { ...request.env, ...env } }
  await request.chownToBuild(tree)

  for (const step of steps)
    await execute(built, 'Install', hidePasswords(describeStep(step)), step.command, path.join(tree, step.folder))
  if (plan.kind === 'node' && plan.build)
    await execute(
      built,
      'Build',
      plan.build.command,
      ['sh', '-c', plan.build.command],
      path.join(tree, plan.build.folder),
    )

  const manifest: ArtifactManifest = {
    kind,
    folder: start.folder,
    prestart: start.prestart,
    start: start.command,
    ...(plan.healthPath === undefined ? {} : { healthPath: plan.healthPath }),
    ...(agentServer ? { agentServer, graphConfig: plan.graphConfig } : {}),
    ...(plan.kind === 'python' && agentServer ? { importable: plan.importable } : {}),
  }
  await fs.promises.writeFile(path.join(folder, 'artifact.json'), JSON.stringify(manifest), { mode: 0o600 })
  return null

  async function execute(
    context: BuildRequest,
    phase: 'Install' | 'Build',
    shown: string,
    command: string[],
    cwd: string,
  ): Promise<void> {
    request.phase?.(phase === 'Install' ? 'install' : 'run the build command')
    log(`$ ${shown}`)
    const tail = new OutputTail(10, ERROR_LINE)
    const [program, ...args] = command
    let full = false
    const exit = await run({ command: program!, args, cwd, env: context.env }, (shown, line) => {
      tail.add(shown)
      full ||= NO_SPACE_OUTPUT.test(line)
    })
    if (exit.code === 0) return
    const how = exit.signal ? `was ended by ${exit.signal}` : `failed with exit code ${exit.code}`
    log(`${phase} command "${shown}" ${how}.`, 'error')
    if (full)
      throw new StepFailure(
        'NO_SPACE',
        tail.appendTo(`${NO_SPACE_MESSAGE}, or where ${phase} command "${shown}" writes: free some.`),
      )
    throw new StepFailure(
      phase === 'Install' ? 'INSTALL_FAILED' : 'BUILD_COMMAND_FAILED',
      tail.appendToWithFirstError(`${phase} command "${shown}" ${how}: the build log has its output.`),
    )
  }
}

/** Returns the command, run by corepack if the package manager is not in PATH. Throws StepFailure if it is unavailable. */
function withManager([program, ...args]: string[], has: (program: string) => boolean): string[] {
  const manager = program!
  if (manager === 'python' || manager === 'sh' || has(manager)) return [manager, ...args]
  if (manager === 'uv')
    throw new StepFailure(
      'TOOL_MISSING',
      'uv is not installed on this machine: install it where all accounts find it (/usr/local/bin), or remove uv.lock to install with pip.',
    )
  if (manager !== 'npm' && has('corepack')) return ['corepack', manager, ...args]
  throw new StepFailure(
    'TOOL_MISSING',
    `${manager} is not installed on this machine: install it, or set install_command to one that brings its own.`,
  )
}
