/**
 * One try of a build, in a folder of its own: bring the source, check, install, build. Knows nothing of accounts and
 * processes: `run` and `own` are the runtime's.
 */
import fs from 'node:fs'
import path from 'node:path'
import { FailureCause } from '../output/failure-cause.ts'
import { OutputTail } from '../output/lines.ts'
import { NO_SPACE_MESSAGE, NO_SPACE_OUTPUT } from '../output/no-space.ts'
import { StepFailure } from '../output/step-failure.ts'
import { loadSource, type SourceRequest } from './load-source.ts'
import type { BuildPlan, DockerfilePlan, NodePlan, PythonPlan } from './plan/build-plan.ts'
import { describeStep, hidePasswords } from './plan/describe-plan.ts'
import type { SuppliedServers } from './plan/plan-build.ts'
import { planSource, warnOfUnusedHealthPath } from './plan-source.ts'

export interface BuildRequest extends SourceRequest {
  hasProgram: (program: string) => boolean
  /** environment of install and build command */
  env: Record<string, string>
  /** gives a folder with all that is in it to the account of the build */
  chownToBuild: (folder: string) => Promise<void>
  /** called with the plan before any of it is carried out */
  onPlan: (plan: BuildPlan) => void
  /** for graphs that bring no server */
  servers: SuppliedServers
  /** Makes what the steps of a plan run in. Throws StepFailure. */
  prepare: (plan: NodePlan | PythonPlan) => Promise<PreparedEnvironment>
  /** makes an image of a tree that brings a Dockerfile; returns the artifact */
  buildImage: (plan: DockerfilePlan, tree: string) => Promise<string>
}

export interface PreparedEnvironment {
  /** what the commands have in their environment beside `env` */
  env: Record<string, string>
  /** the agent server that was supplied; null: none was asked for */
  agentServer: string | null
}

/** What a start needs to know of an artifact; written by us next to its tree, where its own code can't reach. */
export interface ArtifactManifest {
  /** where the script starts, relative to the root of the source */
  folder: string
  prestart: string | null
  start: string
  /** absent: one of a version that built only Node */
  kind?: 'node' | 'python'
  /** what serves it, for the runtime that supplied it; absent, as what is below: it serves itself */
  agentServer?: string
  graphConfig?: string
  importable?: string[]
  /** of the graph configuration file */
  healthPath?: string
}

/** npm, pip and uv say first what is wrong, and then how they are used, at length; lines of nothing else are between them. */
const ERROR_LINE = /^(npm (error|ERR!) +\S|ERROR: |error: )/

/** Returns the artifact of an image, if that is what was made; null: it is in the folder. Throws StepFailure with what to do about it. */
export async function buildSource(request: BuildRequest): Promise<string | null> {
  const { revision, folder, run, log } = request
  const tree = path.join(folder, 'tree')
  const hint = await loadSource(request, tree)

  // all that is read from the tree is read before any of its own code has run
  const plan = planSource(tree, revision, request.servers, hint, log)
  request.onPlan(plan)
  if (plan.kind === 'dockerfile') {
    warnOfUnusedHealthPath(plan, revision, log)
    return request.buildImage(plan, tree)
  }
  const { kind, start, install } = plan
  const steps = install.map((step) => ({ ...step, command: withManager(step.command, request.hasProgram) }))
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
    of: BuildRequest,
    what: 'Install' | 'Build',
    shown: string,
    command: string[],
    cwd: string,
  ): Promise<void> {
    log(`$ ${shown}`)
    const tail = new OutputTail(10, ERROR_LINE)
    const cause = new FailureCause()
    const [program, ...args] = command
    let full = false
    const exit = await run({ command: program!, args, cwd, env: of.env }, (shown, line) => {
      tail.add(shown)
      cause.add(shown)
      full ||= NO_SPACE_OUTPUT.test(line)
    })
    if (exit.code === 0) return
    const how = exit.signal ? `was ended by ${exit.signal}` : `failed with exit code ${exit.code}`
    log(`${what} command "${shown}" ${how}.`, 'error')
    if (full)
      throw new StepFailure(
        'NO_SPACE',
        tail.appendTo(`${NO_SPACE_MESSAGE}, or where ${what} command "${shown}" writes: free some.`),
      )
    throw new StepFailure(
      what === 'Install' ? 'INSTALL_FAILED' : 'BUILD_COMMAND_FAILED',
      cause.prependTo(tail.appendTo(`${what} command "${shown}" ${how}: the build log has its output.`)),
    )
  }
}

/** The command, where its package manager is in PATH or can be brought. Throws StepFailure otherwise. */
function withManager([program, ...args]: string[], has: (program: string) => boolean): string[] {
  const manager = program!
  if (manager === 'python' || manager === 'sh' || has(manager)) return [manager, ...args]
  if (manager === 'uv')
    throw new StepFailure(
      'TOOL_MISSING',
      'uv is not installed on this machine: install it where all accounts find it (/usr/local/bin), or take uv.lock away and pip installs.',
    )
  if (manager !== 'npm' && has('corepack')) return ['corepack', manager, ...args]
  throw new StepFailure(
    'TOOL_MISSING',
    `${manager} is not installed on this machine: install it, or set install_command to one that brings its own.`,
  )
}
