/** Real processes for tests: the server and the command line, each with a clean environment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { removeFolder } from './data-dir.ts'

/** Folder of this checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Ran {
  /** null: ended by a signal. */
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

type Program = 'main' | 'cli' | `test/${string}`

export interface Running {
  child: ChildProcess
  /** Its output so far. */
  output: Ran
  /** Resolves when it has ended. */
  ended: Promise<Ran>
}

export interface RunningServer extends Running {
  url: string
  /** The admin key that it printed, if any. */
  key: string | undefined
}

/**
 * Starts a program as `npm start` and `npm run cli` do, or a file of the tests, with only PATH and HOME of our
 * environment.
 */
export function run(program: Program, args: string[], env: Record<string, string>, tree = ROOT): Running {
  const how = program.startsWith('test/') ? ['--import', 'tsx'] : ['src/start/start.mjs']
  return runFile(process.execPath, [...how, program, ...args], env, tree)
}

/** Starts a program with only PATH and HOME of our environment. */
export function runFile(file: string, args: string[], env: Record<string, string>, cwd: string): Running {
  const child = spawn(file, args, {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: Ran = { code: null, signal: null, stdout: '', stderr: '' }
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text
  })
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text
  })
  const ended = once(child, 'close').then(([code, signal]) => Object.assign(output, { code, signal }))
  return { child, output, ended }
}

/** Runs the command line to its end. */
export function cli(args: string[], env: Record<string, string>): Promise<Ran> {
  return run('cli', args, env).ended
}

/** Starts a server whose settings stop the start. */
export function startInVain(env: Record<string, string>): Promise<Ran> {
  return run('main', [], { PORT: '0', APPS_PORT: '0', WORKER: 'off', ...env }).ended
}

/**
 * Starts a server on a free port and waits until it has printed its address. Throws with its output if it ends before.
 */
export async function startServer(env: Record<string, string>, tree?: string): Promise<RunningServer> {
  return untilListening(
    run('main', [], { PORT: '0', APPS_PORT: '0', WORKER: 'off', AGENTS_END_WITH_SERVER: 'on', ...env }, tree),
  )
}

/** Waits until a server has printed its address. Throws with its output if it ends before. */
export async function untilListening(running: Running): Promise<RunningServer> {
  const { child, output, ended } = running
  const said = new Promise<string>((resolve) => {
    child.stderr!.on('data', () => {
      // the banner is written in one piece
      const url = /Pilothouse +(http\S+)/.exec(output.stderr)?.[1]
      if (url) resolve(url)
    })
  })
  const url = await Promise.race([said, ended.then(() => null)])
  if (url === null) throw new Error(`the server ended:\n${output.stdout}\n${output.stderr}`)
  return { ...running, url, key: /Admin key +(\S+)/.exec(output.stderr)?.[1] }
}

/** A folder for DATA_DIR with the server's mode; `remove` deletes it. */
export async function temporaryFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-process-'))
  await chmod(folder, 0o711)
  return { path: folder, remove: () => removeFolder(folder) }
}
