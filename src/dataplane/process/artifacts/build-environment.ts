/** Prepares and seals what one build runs in: its virtual environment, and the agent server that deployments share. */
import path from 'node:path'
import type { LogLevel } from '../../../domain/protocol/protocol.ts'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import type { PreparedEnvironment } from '../../build/build.ts'
import type { NodePlan, PythonPlan } from '../../build/plan/build-plan.ts'
import type { RunCommand } from '../../build/run-command.ts'
import { type OnLine, OutputTail } from '../../output/lines.ts'
import type { Mask } from '../../output/mask.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { launcherFor } from '../isolation/confinement.ts'
import type { AppLayout } from '../isolation/layout.ts'
import type { Machine } from '../machine/machine.ts'
import { runGroup } from '../processes/process-group.ts'
import { agentServerFolder, ensureAgentServer } from './agent-servers.ts'
import {
  createEnvironment,
  environmentVariables,
  FOLLOW_SOURCE,
  findPython,
  type Python,
  sealEnvironment,
} from './virtual-environment.ts'

/**
 * Script for `python -I -c` with the environment's Python; the argument is the agent server's environment. It adds the server's
 * packages and programs after the deployment's own. The server then runs with the deployment's Python, and the deployment's
 * version of a package wins.
 */
const SHARE_SERVER = `
import os, sys, sysconfig
server = sys.argv[1]
site = sysconfig.get_path("purelib")
theirs = os.path.join(server, os.path.relpath(site, sys.prefix))
with open(os.path.join(site, "zz_agent_server.pth"), "w") as out:
    out.write("import site; site.addsitedir(%r)\\n" % theirs)
programs = os.path.join(server, "bin")
for name in sorted(os.listdir(programs)):
    target = os.path.join(sys.prefix, "bin", name)
    if os.path.lexists(target) or not os.path.isfile(os.path.join(programs, name)):
        continue
    with open(os.path.join(programs, name), "rb") as script:
        text = script.read(65536)
    if text.startswith(b"#!") and server.encode() in text:
        with open(target, "wb") as out:
            out.write(text.replace(server.encode(), sys.prefix.encode()))
        os.chmod(target, 0o755)
`

export interface EnvironmentOptions {
  machine: Machine
  app: AppLayout
  artifact: string
  /** absolute path of the source tree while it is built */
  tree: string
  account: Account | null
  /** environment of package managers, without the deployment's variables */
  env: Record<string, string>
  mask: Mask
  /** owner of the processes: the id of the step */
  owner: string
  log: (line: string, level?: LogLevel) => void
  /** runs a command of the build */
  run: RunCommand
  /** gets output of commands that are not the build's */
  print: OnLine
  signal: AbortSignal
}

interface BuildEnvironment extends PreparedEnvironment {
  /** Call after the last step. No account can change the environment afterwards. */
  seal(): Promise<void>
}

/** Call before the first step of a plan. Throws StepFailure. */
export async function prepareEnvironment(
  options: EnvironmentOptions,
  plan: NodePlan | PythonPlan,
): Promise<BuildEnvironment> {
  const { machine, app, artifact, account, tree } = options
  const python = plan.kind === 'python' ? await findPython(machine.searchPath, plan.version) : null
  warnOfOtherVersion(options, plan, python?.version ?? process.versions.node)
  const agentServer = plan.supplied ? await installServer(options, plan.supplied.packages, python) : null
  if (!python) return { env: {}, agentServer, seal: async () => undefined }
  const venv = await createEnvironment(app, artifact, account)
  // installing pip takes seconds, and is only needed when there is something to install
  const bare = plan.install.length > 0 && plan.kind === 'python' && plan.manager === 'pip' ? [] : ['--without-pip']
  await mustRun(options, [python.program, '-m', 'venv', ...bare, venv])
  const runScript = (script: string, folder: string) =>
    mustRun(options, [path.join(venv, 'bin/python'), '-I', '-c', script, folder])
  return {
    // a .python-version in the tree would make uv replace the environment by one of another Python
    env: { ...environmentVariables(venv, machine.searchPath), UV_PYTHON: python.version },
    agentServer,
    async seal() {
      await runScript(FOLLOW_SOURCE, tree)
      const server = agentServer && agentServerFolder(machine.layout, agentServer)
      if (server) await runScript(SHARE_SERVER, server)
      await sealEnvironment(venv, account)
    },
  }
}

/** Warns when the graph configuration file requests another version than this machine has. */
function warnOfOtherVersion(
  { log }: EnvironmentOptions,
  { kind, version, graphConfig }: NodePlan | PythonPlan,
  has: string,
): void {
  if (!version || has === version || has.startsWith(`${version}.`)) return
  const name = kind === 'node' ? 'Node' : 'Python'
  log(`"${graphConfig}" requests ${name} ${version}, but this machine has ${has}, which is used instead.`, 'warning')
}

function installServer(
  { machine, env, mask, owner, log, print, signal }: EnvironmentOptions,
  packages: string[],
  python: Python | null,
): Promise<string> {
  const account = machine.accounts.shared
  // the agent server and its account are shared by deployments, so only ports are closed
  const confined = account && { account, confinement: { ...machine.confinement, folders: [] }, folder: '' }
  const launcher = confined && { launcher: launcherFor('build', confined) }
  return ensureAgentServer({
    machine,
    packages,
    python,
    env,
    log,
    signal,
    run: ([command, ...args], cwd, variables, onLine) => {
      const own = { account, mask, owner, tagged: true, ...launcher }
      const printed: OnLine = (...line) => {
        onLine(...line)
        print(...line)
      }
      return runGroup(machine.reaper, { command: command!, args, cwd, env: variables, ...own }, printed, signal)
    },
  })
}

async function mustRun({ machine, app, run }: EnvironmentOptions, [command, ...args]: string[]): Promise<void> {
  const tail = new OutputTail(10)
  const env = { PATH: machine.searchPath, HOME: app.home }
  const exit = await run({ command: command!, args, cwd: '/', env }, (shown) => tail.add(shown))
  if (exit.code !== 0)
    throw new StepFailure('INSTALL_FAILED', tail.appendTo('The virtual environment could not be created.'))
}
