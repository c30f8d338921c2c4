/** A server's connection to the door: for the access rules, which it pushes, the certificate, the figures and sleeping agents. */

import type { AccessCopy, AccessNews, GuardSettings } from '../../../domain/values/access-copy.ts'
import { resultWithin } from '../../../platform/async/time-limit.ts'
import { connectToDoor, type DoorConnection } from './door-connection.ts'
import type { DoorProgram, DoorRequest, FromDoor } from './messages.ts'

/** A door that does not answer within this time, in ms, is stuck. A deploy waits for it. */
const ANSWER_MS = 5000

export class ServerLink {
  /** how to start the door; its folder has the socket */
  readonly program: () => Promise<DoorProgram>
  /** called with the id of a sleeping deployment that gets a request */
  onWake: (deployment: string) => void = () => undefined
  #connection: Promise<DoorConnection | null> | null = null

  constructor(program: () => Promise<DoorProgram>) {
    this.program = program
  }

  /** The open connection, or a new one. Null: no door runs. */
  connect(): Promise<DoorConnection | null> {
    if (this.#connection) return this.#connection
    const connecting = this.#connect()
    this.#connection = connecting
    const forget = () => {
      if (this.#connection === connecting) this.#connection = null
    }
    void connecting
      .then(
        (connection) => connection?.closed ?? null,
        () => null,
      )
      .then(forget)
    return connecting
  }

  /** Null: no door runs, or it did not answer. */
  async request(request: DoorRequest): Promise<Extract<FromDoor, { say: 'answer' }> | null> {
    const connection = await this.connect()
    if (!connection) return null
    const answer = await resultWithin(ANSWER_MS, connection.request(request))
    // the next call connects again
    if (answer === undefined) connection.close()
    return answer ?? null
  }

  async close(): Promise<void> {
    void (await this.#connection)?.close()
  }

  async #connect(): Promise<DoorConnection | null> {
    const { folder } = await this.program()
    const connection: DoorConnection | null = await connectToDoor(folder, (event) => {
      // the next call finds the new door
      if (event.say === 'replaced') connection?.close()
      else if (event.say === 'wake') this.onWake(event.deployment)
    })
    void connection?.request({ do: 'hello', deployment: null })
    return connection
  }
}

type CallerKey = NonNullable<Extract<FromDoor, { say: 'answer' }>['callerKey']>

/** Where the copy comes from. */
export interface AccessSource {
  /** `copy`: null when its hash is `known` */
  read(known: string | null): Promise<{ hash: string; copy: AccessCopy | null }>
  settings(): GuardSettings
  /** Stores the public key of the tokens that agents get. */
  saveCallerKey(key: CallerKey): Promise<void>
}

/** Tells the door who may call which deployment (domain/values/access-copy.ts). */
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
