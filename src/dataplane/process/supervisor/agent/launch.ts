/** Prepares one start of an agent: its command, and the files that exist only for that start. */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { launcherFor, NO_CONFINEMENT } from '../../isolation/confinement.ts'
import type { Command } from '../../processes/process-group.ts'
import { SUPERVISOR_VARIABLE } from '../../processes/process-tags.mjs'
import type { AgentPlan, BuiltProgram, ImageProgram } from '../protocol.ts'
import { makeRunFolder } from './run-folder.ts'

/** for a container engine to remove a container */
const REMOVE_TIMEOUT_MS = 30_000

export interface Launch {
  command: Command
  /** folders that the agent may fill */
  folders: string[]
  /** Removes files that only the start needed. Never throws. */
  onReady(): void
  /** Removes the rest after all processes have ended. Never throws. */
  onEnd(): Promise<void>
}

/** `tag`: marks all processes of this supervisor. Throws when the start can't be prepared. */
export function prepareLaunch(plan: AgentPlan, port: number, tag: string, signal: AbortSignal): Promise<Launch> {
  const { program } = plan
  return program.kind === 'built' ? scriptOf(program, plan, port, tag, signal) : containerOf(program, plan, port)
}

/** Runs the start script as `npm run start` does, without npm. */
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

/** The `node_modules/.bin` of the script's folder and of all folders above it. */
function binFolders(cwd: string, root: string): string {
  const folders: string[] = []
  for (let folder = cwd; `${folder}/`.startsWith(`${root}/`); folder = path.dirname(folder))
    folders.push(path.join(folder, 'node_modules/.bin'))
  return folders.join(':')
}

/** Runs a container engine's client. A container outlives its client, so it is removed by name. */
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
      timeout: REMOVE_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    }).catch(() => undefined) // engines differ in how they report a missing container
  }
  // a killed keeper may have left the container of an earlier start
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
      // the engine belongs to the server, not to the deployment
      account: null,
      launcher: launcherFor('ours', null),
      env: { ...env, PORT: String(port), ...clientEnv },
    },
  }
}
