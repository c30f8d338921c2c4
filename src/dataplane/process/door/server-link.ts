/** A server's connection to the door: for the access rules, the certificate, the figures and sleeping agents. */
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
