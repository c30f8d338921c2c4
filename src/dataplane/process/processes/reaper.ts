/**
 * Ends all processes of this server when it dies, even by `kill -9`. A separate small process, the reaper, knows every process
 * group and ends them when the pipe to the server closes.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { endGroup, type GroupId } from './end-group.ts'

const MAIN = fileURLToPath(new URL('./reaper-main.mjs', import.meta.url))

export class Reaper {
  readonly #groups = new Map<number, GroupId & { owner: string | undefined }>()
  #child: ChildProcess | null = null
  #closed = false

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Resolves when the reaper knows the group. `owner`: see `kill`. */
  async add(id: GroupId, owner?: string): Promise<void> {
    this.#groups.set(id.group, { ...id, owner })
    if (this.#child) await this.#tell(added(id))
    else await this.#start()
  }

  /** Ends all groups of this owner with SIGKILL. Throws when a process survives. */
  async kill(owner: string): Promise<void> {
    const groups = [...this.#groups.values()].filter((group) => group.owner === owner)
    const ended = await Promise.all(groups.map((group) => endGroup(group, 0)))
    if (!ended.every(Boolean)) throw new Error('Some processes of this step can’t be ended')
  }

  remove(group: number): void {
    if (this.#groups.delete(group)) void this.#tell(`remove ${group}\n`)
  }

  close(): void {
    this.#closed = true
    this.#child?.stdin?.end()
  }

  async #start(): Promise<void> {
    // detached: Ctrl-C signals the server's process group and must not reach the reaper
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
      // delay the restart, so that a reaper that can't run is not retried in a tight loop
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

  /** Resolves when the text is in the pipe. The reaper reads it even if this process dies right after. */
  #tell(text: string): Promise<void> {
    return new Promise((resolve) => {
      const pipe = this.#child?.stdin
      if (!pipe?.writable) return resolve()
      pipe.write(text, () => resolve())
    })
  }
}

const added = ({ group, tag }: GroupId) => `add ${group} ${tag ?? ''}\n`
