/**
 * Processes of builds and agents. Each is the leader of a process group of its own, so that it can be ended
 * together with everything it started, and is known to a watch (the reaper, or what holds it to its bounds) before it runs
 * its first instruction. Code from
 * repositories also gets a tag of the group in its environment, by which processes are found that leave the group; one
 * that empties its environment as well escapes.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { within } from '../../../../platform/async/time-limit.ts'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import type { CommandExit } from '../../../build/run-command.ts'
import { type OnLine, readLines } from '../../../output/lines.ts'
import type { Mask } from '../../../output/mask.ts'
import { endGroup, type GroupId } from './end-group.ts'
import { CLEAN_ENV, type Launcher, NO_LAUNCHER } from './launcher.ts'
import { SUPERVISOR_VARIABLE, TAG_VARIABLE } from './process-tags.mjs'

/**
 * The gate: nothing happens before `go` is read. The end of the pipe without it means that whoever started it died. What
 * stands before `go` is the environment, which only the account's own programs may get: LD_PRELOAD in it would run as root.
 */
const startGate = (prelude: string) =>
  `umask 077; told=$(PATH=${CLEAN_ENV.PATH}:$PATH; cat) && case $told in *go) ;; *) exit 1 ;; esac && cd -- "$1" && shift && { ${prelude}eval "$told" && exec "$@"; }`

const GO = ': go'

/** For /bin/sh. */
const exportLines = (env: Record<string, string>): string =>
  Object.entries(env)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`)
    .join('')

/** By which it is found from the beginning. */
const tagVariables = (env: Record<string, string>) =>
  Object.fromEntries(
    [TAG_VARIABLE, SUPERVISOR_VARIABLE].flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  )

/** Who has to know of each group. */
export interface GroupTracker {
  /** Called before the group runs anything; when it rejects, it never does. */
  add(id: GroupId, owner?: string): Promise<void>
  /** No process of the group is left: its number may then be given to another. */
  remove(group: number): void
}

/** Reads what a group prints, to the end of one of its streams. */
export type ReadOutput = (stream: Readable) => Promise<void>

export interface Command {
  command: string
  args: string[]
  cwd: string
  env: Record<string, string>
  /** null: the server's own account */
  account: Account | null
  /** whose it is, for `Reaper.kill`: the id of a step */
  owner?: string
  /**
   * Code from a repository: what leaves the group is found and ended, too. Not for our own tools: what a container
   * engine leaves behind is the engine's.
   */
  tagged?: boolean
  /** in front of /bin/sh */
  launcher?: Launcher
  /** for /bin/sh, before the command: what a process sets for itself; ends with `; ` */
  prelude?: string
}

export type Exit = CommandExit

export interface ProcessGroup {
  pid: number
  /** when its leader has exited and nobody of the group or from it is left, and all output has been read */
  ended: Promise<Exit>
  /** SIGTERM, after `graceMs` SIGKILL, to the whole group. Resolves with `ended`. */
  end(graceMs: number): Promise<Exit>
}

/** Starts a command. `read` gets the streams it prints to. Throws if it can't be started at all. */
export async function startGroup(watch: GroupTracker, command: Command, read: ReadOutput): Promise<ProcessGroup> {
  const tag = command.tagged ? randomUUID() : null
  const { launcher = NO_LAUNCHER, prelude = '', account } = command
  const shell = ['/bin/sh', '-c', startGate(prelude), 'sh', command.cwd, command.command, ...command.args]
  const [program, ...args] = [...launcher.programs, ...shell]
  const env = tag === null ? command.env : { ...command.env, [TAG_VARIABLE]: tag }
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(program!, args, {
    // its account goes where it may, not we: code from a repository can put a symlink there
    cwd: '/',
    env: account ? { ...CLEAN_ENV, ...tagVariables(env) } : env,
    // with a uid Node also drops all supplementary groups
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
    // whatever the leader left behind belongs to what has ended
    await endGroup(id, grace)
    over = true
    watch.remove(pid)
    // a process that left the group can hold the pipes open for ever
    await within(1000, output)
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
      // once it is over, its number may be another group's
      if (!over) await endGroup(id, graceMs)
      return ended
    },
  }
}

/**
 * Runs a command to its end. `onLine` gets what it prints, after `rewrite`, in which `mask` hides what must not be seen. When the signal
 * aborts, the group is ended (SIGKILL after 5 s), then the reason is thrown.
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

/** Killed by somebody else than us: hardly ever for another reason. A shell reports that its command was killed as 128 + 9. */
export const ranOutOfMemory = ({ code, signal }: Exit): boolean => signal === 'SIGKILL' || code === 137

/** `exited with code 1`. */
export function describeExit(exit: Exit): string {
  const { code, signal } = exit
  if (ranOutOfMemory(exit)) return 'was killed (SIGKILL): it may have run out of memory'
  return signal ? `was ended by ${signal}` : `exited with code ${code}`
}
