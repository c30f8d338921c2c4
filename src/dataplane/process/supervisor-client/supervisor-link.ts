/**
 * Finds or starts the supervisor of one deployment and connects to it under the claim's token.
 * Raises a token that is too low while the lease is valid: the database was restored from a backup.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { sleep } from '../../../platform/async/retry.ts'
import type { LeasedClaim } from '../../runtimes/runtime.ts'
import { prepareFolders } from '../machine/app-context.ts'
import type { Machine } from '../machine/machine.ts'
import { programFile } from '../machine/programs.ts'
import { type AgentPlan, PROTOCOL, type SupervisorConfig } from '../supervisor/protocol.ts'
import {
  type Connection,
  type ConnectionEvents,
  openConnection,
  StaleToken,
  SupervisorSilent,
  SupervisorUnavailable,
} from './connection.ts'
import {
  isNewestToken,
  makeSupervisorFolder,
  readSupervisorInfo,
  secretOf,
  supervisorFiles,
} from './supervisor-files.ts'

/** from the start of a supervisor until it listens */
const START_TIMEOUT_MS = 20_000
/** each raise is above all tokens seen, so a few are enough */
const MAX_TOKEN_RAISES = 3

/** Whether the supervisor speaks an unknown protocol version. It still understands `hello` and `end`. */
export const isForeign = ({ welcome }: Connection): boolean => ![PROTOCOL, PROTOCOL - 1].includes(welcome.protocol)

/** Protocol 1 requests /ok only. */
export const understands = ({ welcome }: Connection, plan: AgentPlan): boolean =>
  plan.healthPath === undefined || welcome.protocol > 1

export interface LinkEvents extends ConnectionEvents {
  onBroken?: () => void
}

export class SupervisorLink {
  readonly #machine: Machine
  readonly #deploymentId: string
  readonly #events: LinkEvents
  #connection: Connection | null = null
  #token: string | null = null
  #connecting: Promise<Connection | null> = Promise.resolve(null)

  constructor(machine: Machine, deploymentId: string, events: LinkEvents) {
    this.#machine = machine
    this.#deploymentId = deploymentId
    this.#events = events
  }

  /** Null while there is none. */
  get connection(): Connection | null {
    return this.#connection
  }

  /**
   * The connection under the token of `claim`. Null: no supervisor is there, and none is to be started. Throws
   * SupervisorUnavailable; StaleToken when the claim is not held any more; and what keeps a supervisor from being started.
   */
  connect(claim: LeasedClaim, start: boolean): Promise<Connection | null> {
    const before = this.#connecting.catch(() => null)
    this.#connecting = before.then(() => this.#connect(claim, start))
    return this.#connecting
  }

  close(): void {
    this.#connection?.close()
    this.#connection = null
  }

  async #connect(claim: LeasedClaim, start: boolean): Promise<Connection | null> {
    if (this.#connection && this.#token === claim.token) return this.#connection
    this.close()
    for (let raises = 0; ; raises++) {
      const { token } = claim
      try {
        const connection = await this.#openOrStart(claim, start)
        if (connection) this.#setConnection(connection, token)
        return connection
      } catch (error) {
        if (!(error instanceof StaleToken) || raises === MAX_TOKEN_RAISES || !claim.leaseValid()) throw error
        await claim.raiseToken(error.newest)
      }
    }
  }

  #setConnection(connection: Connection, token: string): void {
    this.#connection = connection
    this.#token = token
    void connection.closed.then(() => {
      if (this.#connection !== connection) return
      this.#connection = null
      this.#events.onBroken?.()
    })
  }

  async #openOrStart(claim: LeasedClaim, start: boolean): Promise<Connection | null> {
    const files = supervisorFiles(this.#machine.options.dataDir, this.#deploymentId)
    try {
      const about = readSupervisorInfo(files)
      if (about) return await this.#open(about.socket, claim.token)
    } catch (error) {
      if (!(error instanceof SupervisorUnavailable) || error instanceof SupervisorSilent) throw error
    }
    if (!start) return null
    // without a lease, a server may restart a supervisor only if no newer holder has used it
    if (!claim.leaseValid() && !isNewestToken(files, claim.token)) throw new StaleToken(claim.token)
    return this.#start(claim.token)
  }

  async #start(token: string): Promise<Connection> {
    const { options } = this.#machine
    const { dataDir } = options
    const { installation, orphanHours, drainSeconds, output } = options.supervisors
    const files = supervisorFiles(dataDir, this.#deploymentId)
    await prepareFolders(this.#machine, this.#deploymentId)
    const { socket } = makeSupervisorFolder(dataDir, this.#deploymentId, installation)
    const config: SupervisorConfig = {
      deploymentId: this.#deploymentId,
      installation,
      folder: files.folder,
      socket,
      secret: secretOf(dataDir),
      outputFolder: files.output,
      output,
      door: await this.#machine.door(),
      appPorts: options.appPorts,
      orphanHours,
      drainSeconds,
    }
    await startSupervisor(dataDir, config, files.errors, this.#machine)
    const until = performance.now() + START_TIMEOUT_MS
    for (let wait = 10; ; wait = Math.min(200, wait * 1.5)) {
      try {
        return await this.#open(socket, token)
      } catch (error) {
        if (!(error instanceof SupervisorUnavailable)) throw error
        if (performance.now() > until) throw notStarted(files.errors)
      }
      await sleep(wait)
    }
  }

  #open(socket: string, token: string): Promise<Connection> {
    const { dataDir, supervisors } = this.#machine.options
    const hello = {
      protocol: PROTOCOL,
      secret: secretOf(dataDir),
      installation: supervisors.installation,
      deploymentId: this.#deploymentId,
      token,
    }
    return openConnection(socket, hello, this.#events)
  }
}

function notStarted(errors: string): Error {
  const printed = fs.readFileSync(errors, 'utf8').trim().split('\n').at(-1)
  return new SupervisorUnavailable(
    `The supervisor of this deployment could not be started: ${printed || 'it does not listen'}`,
  )
}

/** Resolves when the process has its configuration, before it listens. `errors`: file for its stderr. */
async function startSupervisor(
  dataDir: string,
  config: SupervisorConfig,
  errors: string,
  { node, searchPath }: Pick<Machine, 'node' | 'searchPath'>,
): Promise<void> {
  const file = await programFile(dataDir, 'supervisor')
  const out = fs.openSync(errors, 'w', 0o600)
  try {
    const child = spawn(node, [file], {
      // inherits no folder or environment of the server, so that both can be removed
      cwd: '/',
      env: { PATH: searchPath },
      detached: true,
      stdio: ['pipe', 'ignore', out],
    })
    await new Promise<void>((resolve, reject) => {
      child.on('error', reject)
      // it ended early; the caller notices that it does not listen
      child.stdin!.on('error', () => resolve())
      child.stdin!.end(`${JSON.stringify(config)}\n`, () => resolve())
    })
    child.unref()
  } finally {
    fs.closeSync(out)
  }
}
