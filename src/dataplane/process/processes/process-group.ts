/**
 * Starts each command of builds and agents as the leader of a new process group, so it can be ended with all its children.
 * README.md explains the start gate, the tracker and tags.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { resultWithin } from '../../../platform/async/time-limit.ts'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import type { CommandExit } from '../../build/run-command.ts'
import { type OnLine, readLines } from '../../output/lines.ts'
import type { Mask } from '../../output/mask.ts'
import { endGroup, type GroupId } from './end-group.ts'
import { SUPERVISOR_VARIABLE, TAG_VARIABLE } from './process-tags.mjs'

export const CLEAN_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }

/** Programs that set up a command's process, each of which then executes the next (isolation/confinement.ts). */
export interface Launcher {
  programs: string[]
  /** true: the chain starts as root and switches to the command's account; false: the caller starts it under that account */
  asRoot: boolean
}

export const NO_LAUNCHER: Launcher = { programs: [], asRoot: false }

/**
 * Shell script that waits for `go` on its input; if the input ends without it, the starting process has died. The text before
 * `go` sets the environment. It is read only under the command's own account: LD_PRELOAD in it would otherwise run as root.
 */
const startGate = (prelude: string) =>
  `umask 077; told=$(PATH=${CLEAN_ENV.PATH}:$PATH; cat) && case $told in *go) ;; *) exit 1 ;; esac && cd -- "$1" && shift && { ${prelude}eval "$told" && exec "$@"; }`

const GO = ': go'

const exportLines = (env: Record<string, string>): string =>
  Object.entries(env)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`)
    .join('')

/** Tags that must be in the environment from the start, so that the process can be found. */
const tagVariables = (env: Record<string, string>) =>
  Object.fromEntries(
    [TAG_VARIABLE, SUPERVISOR_VARIABLE].flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  )

/** Is told of every group: the reaper, or code that enforces an agent's limits. */
export interface GroupTracker {
  /** Called before the group runs anything. The command never runs if this rejects. */
  add(id: GroupId, owner?: string): Promise<void>
  remove(group: number): void
}

export type ReadOutput = (stream: Readable) => Promise<void>

export interface Command {
  command: string
  args: string[]
  cwd: string
  env: Record<string, string>
  account: Account | null
  owner?: string
  /**
   * Tracks processes that leave the group. For code from repositories; not for our own tools, because a container engine manages
   * its background processes itself.
   */
  tagged?: boolean
  launcher?: Launcher
  /** statements for /bin/sh before the command, for limits that a process sets for itself; ends with `; ` */
  prelude?: string
}

export type Exit = CommandExit

export interface ProcessGroup {
  pid: number
  /** resolves when the leader and all tracked processes are gone and all output is read */
  ended: Promise<Exit>
  /** Sends SIGTERM to the whole group, and SIGKILL after `graceMs`. Resolves with `ended`. */
  end(graceMs: number): Promise<Exit>
}

export async function startGroup(watch: GroupTracker, command: Command, read: ReadOutput): Promise<ProcessGroup> {
  const tag = command.tagged ? randomUUID() : null
  const { launcher = NO_LAUNCHER, prelude = '', account } = command
  const shell = ['/bin/sh', '-c', startGate(prelude), 'sh', command.cwd, command.command, ...command.args]
  const [program, ...args] = [...launcher.programs, ...shell]
  const env = tag === null ? command.env : { ...command.env, [TAG_VARIABLE]: tag }
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(program!, args, {
    // the command's account changes the folder, not the server: code from a repository can put a symlink there
    cwd: '/',
    env: account ? { ...CLEAN_ENV, ...tagVariables(env) } : env,
    // Node also drops all supplementary groups when it sets a uid
    ...(account && !launcher.asRoot ? { uid: account.uid, gid: account.gid } : {}),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const { pid } = child
  if (pid === undefined) {
    const [error] = await new Promise<[Error]>((resolve) => child.once('error', (cause) => resolve([cause])))
    throw error
  }
  child.on('error', () => undefined)
  child.stdin.on('error', () => undefined)
  const exited = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
  const id = { group: pid, tag }
  const output = Promise.all([child.stdout, child.stderr].map(read))
  let grace = 1000
  let over = false
  const ended = exited.then(async (exit) => {
    await endGroup(id, grace)
    over = true
    watch.remove(pid)
    // a process that left the group can hold the pipes open for ever
    await resultWithin(1000, output)
    child.stdout.destroy()
    child.stderr.destroy()
    return exit
  })
  try {
    await watch.add(id, command.owner)
  } catch (error) {
    child.stdin.end()
    await ended
    throw error
  }
  child.stdin.end(`${account ? exportLines(env) : ''}${GO}`)
  return {
    pid,
    ended,
    async end(graceMs) {
      grace = graceMs
      // the id of a group that is gone may belong to another group
      if (!over) await endGroup(id, graceMs)
      return ended
    },
  }
}

/**
 * Runs a command to its end. Each line is rewritten by `rewrite`, masked by `mask`, and passed to `onLine`. When the signal
 * aborts, ends the group (SIGKILL after 5 s), then throws the signal's reason.
 */
export async function runGroup(
  watch: GroupTracker,
  { mask, rewrite, ...command }: Command & { mask: Mask; rewrite?: (line: string) => string },
  onLine: OnLine,
  signal: AbortSignal,
): Promise<Exit> {
  signal.throwIfAborted()
  const group = await startGroup(watch, command, (stream) => readLines(stream, mask, onLine, rewrite))
  const stop = () => void group.end(5000)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    const exit = await group.ended
    signal.throwIfAborted()
    return exit
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/**
 * Whether the kernel probably killed it for lack of memory: we did not send this SIGKILL. A shell reports a killed command as 128
 * + 9.
 */
export const ranOutOfMemory = ({ code, signal }: Exit): boolean => signal === 'SIGKILL' || code === 137

export function describeExit(exit: Exit): string {
  const { code, signal } = exit
  if (ranOutOfMemory(exit)) return 'was killed (SIGKILL): it may have run out of memory'
  return signal ? `was ended by ${signal}` : `exited with code ${code}`
}
