/** Tells the door who may call which deployment (domain/values/access-copy.ts). */
import type { AccessCopy, AccessNews, GuardSettings } from '../../../domain/values/access-copy.ts'
import type { FromDoor } from './messages.ts'
import type { ServerLink } from './server-link.ts'

type CallerKey = NonNullable<Extract<FromDoor, { say: 'answer' }>['callerKey']>

/** Where the copy comes from. */
export interface AccessSource {
  /** `copy`: null when its hash is `known` */
  read(known: string | null): Promise<{ hash: string; copy: AccessCopy | null }>
  settings(): GuardSettings
  /** Stores the public key of the tokens that agents get. */
  saveCallerKey(key: CallerKey): Promise<void>
}

export class AccessPush {
  readonly #source: AccessSource
  readonly #link: ServerLink
  #known: { hash: string; copy: AccessCopy } | null = null
  #savedKey = ''
  /** why the access log can't be written; null: it can, or there is none */
  logProblem: string | null = null
  #pushed: Promise<void> = Promise.resolve()

  constructor(source: AccessSource, link: ServerLink) {
    this.#source = source
    this.#link = link
  }

  /**
   * Sends the present copy to the door, if one runs. Calls wait for each other. Throws when the copy can't be read.
   */
  push(): Promise<void> {
    const next = this.#pushed.then(() => this.#push())
    this.#pushed = next.catch(() => undefined)
    return next
  }

  async #push(): Promise<void> {
    const { hash, copy } = await this.#source.read(this.#known?.hash ?? null)
    if (copy) this.#known = { hash, copy }
    if (!this.#known) return
    const settings = this.#source.settings()
    const tell = (news: AccessNews) => this.#link.request({ do: 'access', news })
    let answer = await tell({ hash, settings })
    if (answer?.copyNeeded) answer = await tell({ hash, settings, copy: this.#known.copy })
    this.logProblem = answer?.logProblem ?? null
    const key = answer?.callerKey
    if (!key || key.kid === this.#savedKey) return
    await this.#source.saveCallerKey(key)
    this.#savedKey = key.kid
  }
}
