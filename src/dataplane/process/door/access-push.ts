/** Tells the door who may call which deployment (domain/values/access-copy.ts). */
import type { AccessCopy, GuardSettings } from '../../../domain/values/access-copy.ts'
import { connectToDoor, type DoorConnection } from './door-connection.ts'
import type { FromDoor } from './messages.ts'

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
  #known: { hash: string; copy: AccessCopy } | null = null
  #connection: DoorConnection | null = null
  #savedKey = ''

  constructor(source: AccessSource) {
    this.#source = source
  }

  /** Sends the present copy to the door of this folder, if one runs. Throws when the copy can't be read. */
  async push(folder: string): Promise<void> {
    const { hash, copy } = await this.#source.read(this.#known?.hash ?? null)
    if (copy) this.#known = { hash, copy }
    const connection = await this.#connect(folder)
    if (!connection || !this.#known) return
    const settings = this.#source.settings()
    let answer = await connection.request({ do: 'access', news: { hash, settings } })
    if (answer?.copyNeeded)
      answer = await connection.request({ do: 'access', news: { hash, settings, copy: this.#known.copy } })
    const key = answer?.callerKey
    if (!key || key.kid === this.#savedKey) return
    await this.#source.saveCallerKey(key)
    this.#savedKey = key.kid
  }

  close(): void {
    this.#connection?.close()
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
