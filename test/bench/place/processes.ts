/** Programs that the bench starts: their output goes to a file, their cost is read from /proc. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'

export interface Program {
  name: string
  pid: number
  child: ChildProcess
  /** Sends SIGTERM and waits for the end; sends SIGKILL after a minute. */
  end(): Promise<void>
}

const STOP_TIMEOUT_MS = 60_000

/** `PATH` of the bench's programs: its `node` is the one that runs the bench. */
export const PATH = `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`

/** Starts a program with its output in `<folder>/<name>.log`. */
export function start(
  name: string,
  folder: string,
  [command, ...args]: [string, ...string[]],
  options: { cwd: string; env?: Record<string, string>; ipc?: boolean },
): Program {
  const log = path.join(folder, `${name}.log`)
  const out = fs.openSync(log, 'a')
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, PATH, ...options.env },
    stdio: options.ipc ? ['ignore', out, out, 'ipc'] : ['ignore', out, out],
  })
  fs.closeSync(out)
  const ended = once(child, 'exit')
  // a failed bench leaves nothing behind
  const kill = () => child.kill('SIGTERM')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return {
    name,
    pid: child.pid!,
    child,
    async end() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      await ended
      clearTimeout(late)
    },
  }
}

/**
 * Polls `url` until it answers with a status below 300. Throws with the end of the program's output if the program
 * ends.
 */
export async function untilReady(program: Program, url: string, folder: string): Promise<void> {
  while (program.child.exitCode === null && program.child.signalCode === null) {
    const ready = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    )
    if (ready) return
    await pause(20)
  }
  const said = fs.readFileSync(path.join(folder, `${program.name}.log`), 'utf8').slice(-2_000)
  throw new Error(`${program.name} ended:\n${said}`)
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
