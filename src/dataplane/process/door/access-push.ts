/** Tells the door who may call which deployment (domain/values/access-copy.ts). */
import type { AccessCopy, AccessNews, GuardSettings } from '../../../domain/values/access-copy.ts'
import { resultWithin } from '../../../platform/async/time-limit.ts'
import type { FromDoor } from './messages.ts'
import type { ServerLink } from './server-link.ts'

type CallerKey = NonNullable<Extract<FromDoor, { say: 'answer' }>['callerKey']>

/** A door that does not answer within this time, in ms, is stuck. A deploy waits for it. */
const ANSWER_MS = 5000

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
    const connection = await this.#link.connect()
    if (!connection || !this.#known) return
    const settings = this.#source.settings()
    const tell = (news: AccessNews) => resultWithin(ANSWER_MS, connection.request({ do: 'access', news }))
    let answer = await tell({ hash, settings })
    if (answer?.copyNeeded) answer = await tell({ hash, settings, copy: this.#known.copy })
    // the next round connects again
    if (answer === undefined) connection.close()
    const key = answer?.callerKey
    if (!key || key.kid === this.#savedKey) return
    await this.#source.saveCallerKey(key)
    this.#savedKey = key.kid
  }
}
