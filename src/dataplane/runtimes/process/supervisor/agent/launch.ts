/** What is run for one start of an agent, and what is made for it and removed after it. */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { NO_CONFINEMENT } from '../../processes/confinement.ts'
import { launcherFor } from '../../processes/launcher.ts'
import type { Command } from '../../processes/process-group.ts'
import { SUPERVISOR_VARIABLE } from '../../processes/process-tags.mjs'
import type { AgentPlan, BuiltProgram, ImageProgram } from '../protocol.ts'
import { makeRunFolder } from './run-folder.ts'

/** how long a container engine may take to remove a container */
const REMOVE_MS = 30_000

export interface Launch {
  command: Command
  /** that it may fill */
  folders: string[]
  /** it serves: what only its start needed can go. Never throws. */
  onReady(): void
  /** no process of it is left: removes what else there is. Never throws. */
  onEnd(): Promise<void>
}

/** `tag`: of all that this supervisor starts. Throws when it can't be started. */
export function prepareLaunch(plan: AgentPlan, port: number, tag: string, signal: AbortSignal): Promise<Launch> {
  const { program } = plan
  return program.kind === 'built' ? scriptOf(program, plan, port, tag, signal) : containerOf(program, plan, port)
}

/** The start script, as `npm run start` would run it, without npm. */
async function scriptOf(
  program: BuiltProgram,
  { account, env }: AgentPlan,
  port: number,
  tag: string,
  signal: AbortSignal,
): Promise<Launch> {
  const { prestart, start, confinement = NO_CONFINEMENT } = program
  const { cwd, root, temporary, remove } = await makeRunFolder(program, account, signal)
  return {
    folders: [root, program.temporary, ...(env.HOME ? [env.HOME] : [])],
    onReady: () => undefined,
    onEnd: remove,
    command: {
      command: '/bin/sh',
      args: prestart ? ['-c', 'sh -c "$1" && exec sh -c "$2"', 'sh', prestart, start] : ['-c', start],
      cwd,
      account,
      launcher: account
        ? launcherFor('theirs', { account, confinement, folder: temporary.folder })
        : launcherFor('ours', null),
      tagged: true,
      env: {
        ...env,
        PORT: String(port),
        TMPDIR: temporary.tmp,
        PATH: `${binFolders(cwd, root)}:${env.PATH}`,
        npm_lifecycle_event: 'start',
        npm_package_json: path.join(cwd, 'package.json'),
        INIT_CWD: cwd,
        [SUPERVISOR_VARIABLE]: tag,
      },
    },
  }
}

/** Scripts find the programs of their packages, of their own folder and those above. */
function binFolders(cwd: string, root: string): string {
  const folders: string[] = []
  for (let folder = cwd; `${folder}/`.startsWith(`${root}/`); folder = path.dirname(folder))
    folders.push(path.join(folder, 'node_modules/.bin'))
  return folders.join(':')
}

/** The client of a container engine. A container does not end with its client as a process does: it is removed by its name. */
async function containerOf(
  { engine, clientEnv, container, args, envFile }: ImageProgram,
  { env }: AgentPlan,
  port: number,
): Promise<Launch> {
  const forget = () => fs.rmSync(envFile.path, { force: true })
  const remove = async () => {
    await promisify(execFile)(engine, ['rm', '--force', container], {
      cwd: '/',
      env: clientEnv,
      timeout: REMOVE_MS,
      killSignal: 'SIGKILL',
    }).catch(() => undefined) // engines differ in what they make of one that is not there
  }
  // of a start that nobody saw the end of
  await remove()
  fs.writeFileSync(envFile.path, envFile.text, { mode: 0o600 })
  return {
    folders: [],
    onReady: forget,
    async onEnd() {
      forget()
      await remove()
    },
    command: {
      command: engine,
      args: ['run', ...args],
      cwd: '/',
      // the engine is ours, not the deployment's
      account: null,
      launcher: launcherFor('ours', null),
      env: { ...env, PORT: String(port), ...clientEnv },
    },
  }
}
