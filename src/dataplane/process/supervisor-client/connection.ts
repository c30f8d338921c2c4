/**
 * A server's end of the connection to one supervisor (supervisor/protocol.ts): sends hello and requests, receives events.
 * Every call has a time limit.
 */
import net from 'node:net'
import { createInterface } from 'node:readline'
import type { Progress } from '../../../domain/protocol/protocol.ts'
import { withHardTimeout } from '../../../platform/async/time-limit.ts'
import { StepFailure } from '../../output/step-failure.ts'
import type { Answer, Hello, Request, State, SupervisorEvent, Welcome } from '../supervisor/protocol.ts'

/** A request without what the connection adds to it. */
type RequestBody = Request extends infer R ? (R extends Request ? Omit<R, 'id' | 'token'> : never) : never

/** The supervisor obeys a newer token than ours. */
export class StaleToken extends Error {
  readonly newest: string

  constructor(newest: string) {
    super('A newer claim exists, so the supervisor of this deployment refuses this server')
    this.newest = newest
  }
}

/** No process listens on the socket, the connection is broken, or the supervisor does not answer. */
export class SupervisorUnavailable extends Error {}

/** A process listens on the socket but does not answer. */
export class SupervisorSilent extends SupervisorUnavailable {}

/** The candidate does not exist (any more). */
export class CandidateGone extends Error {}

const HELLO_TIMEOUT_MS = 10_000
const ANSWER_TIMEOUT_MS = 15_000
/** time for a supervisor to end its agents after the drain */
const END_TIMEOUT_MS = 30_000

export interface ConnectionEvents {
  /** the output files have new lines */
  onOutput?: () => void
  /** `state` has changed */
  onState?: () => void
  /** the supervisor refuses all further requests of this connection */
  onStale?: () => void
}

interface PendingRequest {
  resolve: (answer: Answer) => void
  reject: (error: Error) => void
  onProgress: ((progress: Progress | null) => void) | undefined
}

export interface Connection {
  welcome: Extract<Welcome, { ok: true }>
  /** as last received */
  state: State
  /** resolves when it is broken */
  closed: Promise<void>
  /**
   * Resolves when it is done. `ms`: after this time the supervisor counts as hanging. `onProgress`: gets the progress of a
   * `prepare`. Throws SupervisorUnavailable, StaleToken, CandidateGone, and StepFailure for people.
   */
  request(body: RequestBody, options?: { ms?: number; onProgress?: (progress: Progress | null) => void }): Promise<void>
  close(): void
}

/** Throws SupervisorUnavailable; StaleToken; and an Error when the supervisor does not take us for its server. */
export async function openConnection(
  socketPath: string,
  hello: Omit<Hello, 'verb'>,
  { onOutput, onState, onStale }: ConnectionEvents = {},
): Promise<Connection> {
  const { token } = hello
  const socket = net.connect(socketPath)
  const pending = new Map<number, PendingRequest>()
  let lastId = 0
  let connection: Connection | undefined
  const send = (message: Hello | Request) => socket.write(`${JSON.stringify(message)}\n`)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  void closed.then(() => {
    for (const { reject } of pending.values()) reject(new SupervisorUnavailable('The supervisor has gone'))
    pending.clear()
  })

  async function request(...[body, { ms = ANSWER_TIMEOUT_MS, onProgress } = {}]: Parameters<Connection['request']>) {
    const id = ++lastId
    const silent = () => new SupervisorSilent(`The supervisor of this deployment does not answer (${body.verb})`)
    const call = () =>
      new Promise<Answer>((resolve, reject) => {
        if (socket.destroyed) return reject(new SupervisorUnavailable('The supervisor has gone'))
        pending.set(id, { resolve, reject, onProgress })
        send({ ...body, id, token } as Request)
      })
    const answer = await withHardTimeout(ms, undefined, silent, call).finally(() => pending.delete(id))
    if (answer.ok) return
    if (answer.refused === 'stale') throw new StaleToken(answer.newest ?? token)
    if (answer.refused === 'gone') throw new CandidateGone(answer.message ?? 'The candidate is gone')
    throw new StepFailure(answer.reason ?? 'INTERNAL', answer.message ?? 'The supervisor gave no reason', {
      artifactLost: answer.artifactLost ?? false,
    })
  }

  function onEvent(event: SupervisorEvent): void {
    if (event.say === 'progress') pending.get(event.id)?.onProgress?.(event.progress)
    else if (event.say === 'output') onOutput?.()
    else if (event.say === 'stale') onStale?.()
    else if (connection) {
      connection.state = event.state
      onState?.()
    }
  }

  const greeted = new Promise<Connection>((resolve, reject) => {
    const away = (cause?: Error) => reject(new SupervisorUnavailable('No supervisor listens there', { cause }))
    socket.on('error', away)
    socket.once('close', () => away())
    const lines = createInterface({ input: socket })
    lines.on('error', away).on('line', (line) => {
      try {
        const message = JSON.parse(line) as Welcome | Answer | SupervisorEvent
        if ('say' in message) onEvent(message)
        else if ('id' in message) pending.get(message.id)?.resolve(message)
        else {
          const welcome = accepted(message, token)
          connection = { welcome, state: welcome.state, closed, request, close: () => socket.destroy() }
          resolve(connection)
        }
      } catch (error) {
        reject(error)
        socket.destroy()
      }
    })
  })
  try {
    send({ verb: 'hello', ...hello })
    const silent = () => new SupervisorSilent('The supervisor of this deployment does not answer')
    return await withHardTimeout(HELLO_TIMEOUT_MS, undefined, silent, () => greeted)
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** Ends all agents and the supervisor. */
export const endSupervisor = (connection: Connection, drainMs: number): Promise<void> =>
  connection.request({ verb: 'end', drainMs }, { ms: drainMs + END_TIMEOUT_MS })

function accepted(welcome: Welcome, token: string): Connection['welcome'] {
  if (welcome.ok) return welcome
  if (welcome.refused === 'stale') throw new StaleToken(welcome.newest ?? token)
  throw new Error(
    welcome.refused === 'installation'
      ? 'Another installation has used this DATA_DIR, so the supervisor of this deployment refuses this server. Give each installation its own DATA_DIR.'
      : 'The secret in DATA_DIR/run was replaced, so the supervisor of this deployment refuses this server. Restore the old secret.',
  )
}
