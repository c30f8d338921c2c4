/**
 * Processes must end with their server, also after `kill -9`: then nothing of the server is left that could
 * end them. So a small process of its own, the reaper, gets every process group (and its tag) before it runs anything,
 * and ends them all when its pipe to the server closes, which the kernel sees to.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { endGroup, type GroupId } from './end-group.ts'

const MAIN = fileURLToPath(new URL('./reaper-main.mjs', import.meta.url))

export class Reaper {
  readonly #groups = new Map<number, GroupId & { owner: string | undefined }>()
  #child: ChildProcess | null = null
  #closed = false

  /** The reaper's process id while it runs. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Resolves when the group is sure to end with this server. `owner`: whose it is, for `kill`. */
  async add(id: GroupId, owner?: string): Promise<void> {
    this.#groups.set(id.group, { ...id, owner })
    if (this.#child) await this.#tell(added(id))
    else await this.#start()
  }

  /** Ends all groups of this owner by SIGKILL. Throws when one can't be ended. */
  async kill(owner: string): Promise<void> {
    const its = [...this.#groups.values()].filter((group) => group.owner === owner)
    const ended = await Promise.all(its.map((group) => endGroup(group, 0)))
    if (!ended.every(Boolean)) throw new Error('Some of its processes can’t be ended')
  }

  /** To be called when no process of the group is left: its number may then be given to another. */
  remove(group: number): void {
    if (this.#groups.delete(group)) void this.#tell(`remove ${group}\n`)
  }

  /** Ends the reaper, and with it any group that is left. */
  close(): void {
    this.#closed = true
    this.#child?.stdin?.end()
  }

  async #start(): Promise<void> {
    // detached: a Ctrl-C in the terminal goes to the server's process group, and must not reach the reaper
    const child = spawn(process.execPath, [MAIN], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#child = child
    const lost = () => {
      if (this.#child !== child) return
      this.#child = null
      // not at once: a reaper that can't run must not be tried in a tight loop
      setTimeout(() => {
        if (!this.#child && !this.#closed && this.#groups.size > 0) void this.#start()
      }, 100)
    }
    child.on('exit', lost)
    child.on('error', lost)
    child.stdin.on('error', () => undefined)
    child.unref()
    ;(child.stdin as unknown as { unref(): void }).unref()
    await this.#tell([...this.#groups.values()].map(added).join(''))
  }

  /** Resolves when the text is in the pipe: what is there is read, even if this process dies in the next moment. */
  #tell(text: string): Promise<void> {
    return new Promise((resolve) => {
      const pipe = this.#child?.stdin
      if (!pipe?.writable) return resolve()
      pipe.write(text, () => resolve())
    })
  }
}

const added = ({ group, tag }: GroupId) => `add ${group} ${tag ?? ''}\n`
