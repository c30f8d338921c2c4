/** Tells the door who may call which deployment (domain/values/access-copy.ts). */
import type { AccessCopy, AccessNews, GuardSettings } from '../../../domain/values/access-copy.ts'
import { resultWithin } from '../../../platform/async/time-limit.ts'
import { connectToDoor, type DoorConnection } from './door-connection.ts'
import type { FromDoor } from './messages.ts'

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
  #known: { hash: string; copy: AccessCopy } | null = null
  #connection: DoorConnection | null = null
  #savedKey = ''
  #pushed: Promise<void> = Promise.resolve()

  constructor(source: AccessSource) {
    this.#source = source
  }

  /**
   * Sends the present copy to the door of this folder, if one runs. Calls wait for each other, so that one connection is open. Throws
   * when the copy can't be read.
   */
  push(folder: string): Promise<void> {
    const next = this.#pushed.then(() => this.#push(folder))
    this.#pushed = next.catch(() => undefined)
    return next
  }

  close(): void {
    this.#connection?.close()
  }

  async #push(folder: string): Promise<void> {
    const { hash, copy } = await this.#source.read(this.#known?.hash ?? null)
    if (copy) this.#known = { hash, copy }
    const connection = await this.#connect(folder)
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

  async #connect(folder: string): Promise<DoorConnection | null> {
    if (this.#connection) return this.#connection
    const onEvent = (event: { say: string }) => {
      // the next round finds the new door
      if (event.say === 'replaced') this.#connection?.close()
    }
    const connection = await connectToDoor(folder, onEvent)
    if (!connection) return null
    this.#connection = connection
    void connection.closed.then(() => {
      if (this.#connection === connection) this.#connection = null
    })
    void connection.request({ do: 'hello', deployment: null })
    return connection
  }
}
