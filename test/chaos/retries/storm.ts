/**
 * A retry storm: three clients send each write with one Idempotency-Key, over two servers, until they get an answer.
 * Answers and connections are dropped at random, servers killed, Postgres restarted. Each write must have one outcome
 * and three equal answers.
 */
import { Calls } from '../events/calls.ts'
import { KEY, openPlace, type Place, type Server } from '../events/place.ts'
import { type Random, random } from '../events/random.ts'
import { pause } from '../events/waiting.ts'
import { left, newDeployment, type Write, writesTo } from './writes.ts'

export interface StormOptions {
  seed: number
  writes: number
  /** Number of concurrent writes. */
  atOnce: number
  /** Number of deployments that they change. */
  deployments: number
  /** Faults, spread evenly over the writes. */
  faults: readonly ('kill -9 of a server' | 'Postgres restarted')[]
}

export interface StormReport {
  writes: number
  /** Number of results of requests by kind: an answer, or the cause of its absence. */
  requests: Record<string, number>
  /** Number of writes whose three answers differ. */
  unlike: string[]
  /** Marks that exist more than once. */
  doubled: string[]
  /** Marks that are missing. */
  missing: string[]
  seconds: number
}

/** Timeout in ms: a server without its database may never answer. */
const CALL_TIMEOUT_MS = 10_000
/** Per hundred requests: answers that are dropped, and connections that are cut while the server works. */
const DROPPED_ANSWERS_PERCENT = 25
const CUT_CONNECTIONS_PERCENT = 10

interface Answer {
  status: number
  text: string
  revision: string | null
  etag: string | null
}

export async function storm(options: StormOptions): Promise<StormReport> {
  const place = await openPlace({ RUNTIME: 'none' })
  try {
    const calls = new Calls(place)
    const ids: string[] = []
    for (let n = 0; n < options.deployments; n++) {
      const body = newDeployment(`target-${n}`)
      ids.push((await calls.untilDone({ method: 'POST', path: '/v2/deployments', body })).id)
    }
    return await new Storm(place, options).through(writesTo(ids, options.writes))
  } finally {
    await place.close()
  }
}

class Storm {
  readonly #place: Place
  readonly #options: StormOptions
  readonly #random: Random
  readonly #requests: Record<string, number> = {}

  constructor(place: Place, options: StormOptions) {
    this.#place = place
    this.#options = options
    this.#random = random(options.seed)
  }

  async through(writes: readonly Write[]): Promise<StormReport> {
    const since = performance.now()
    const unlike: string[] = []
    let faults = Promise.resolve()
    let next = 0
    const { atOnce, faults: kinds } = this.#options
    const worker = async () => {
      for (let n = next++; n < writes.length; n = next++) {
        const at = kinds.findIndex((_, i) => n === Math.floor(((i + 1) * writes.length) / (kinds.length + 1)))
        if (at !== -1) faults = faults.then(() => this.#break(kinds[at]!))
        if (!(await this.#sendThrice(writes[n]!))) unlike.push(`${writes[n]!.kind} ${n}`)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
    await faults
    const found = await left(this.#place)
    const marks = writes.flatMap(({ leaves }) => leaves)
    return {
      writes: writes.length,
      requests: this.#requests,
      unlike,
      doubled: marks.filter((mark) => (found.get(mark) ?? 0) > 1),
      missing: marks.filter((mark) => !found.has(mark)),
      seconds: (performance.now() - since) / 1000,
    }
  }

  /** Sends it twice concurrently and once afterwards; returns whether all got the same success. */
  async #sendThrice(write: Write): Promise<boolean> {
    const both = await Promise.all([this.#untilAnswered(write), this.#untilAnswered(write)])
    const answers = [...both, await this.#untilAnswered(write)].map((answer) => JSON.stringify(answer))
    return new Set(answers).size === 1 && both[0]!.status < 300 && !both[0]!.text.includes('"errors"')
  }

  async #untilAnswered(write: Write): Promise<Answer> {
    for (;;) {
      const answer = await this.#send(write)
      if (answer) return answer
      await pause(50 + this.#random.below(200))
    }
  }

  /** Null: no client learned the outcome. */
  async #send({ key, method, path, body }: Write): Promise<Answer | null> {
    const fate = this.#random.below(100)
    const cut =
      fate >= DROPPED_ANSWERS_PERCENT && fate < DROPPED_ANSWERS_PERCENT + CUT_CONNECTIONS_PERCENT
        ? this.#random.below(40)
        : CALL_TIMEOUT_MS
    const up = this.#place.servers.filter(({ state }) => state === 'up')
    try {
      const response = await fetch(this.#random.one(up).direct + path, {
        method,
        headers: { 'x-api-key': KEY, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(cut),
      })
      const text = await response.text()
      const { status, headers } = response
      const said = `${status} ${/"code":"([A-Z_]+)"/.exec(text)?.[1] ?? (headers.get('idempotency-replayed') ? 'repeated' : 'done')}`
      if (fate < DROPPED_ANSWERS_PERCENT) return this.#none(`${said}, swallowed`)
      if (status >= 500 || /IDEMPOTENCY_IN_FLIGHT|UNAVAILABLE|OUTCOME_UNKNOWN/.test(said)) return this.#none(said)
      this.#count(said)
      return { status, text, revision: headers.get('x-revision-id'), etag: headers.get('etag') }
    } catch {
      return this.#none(cut < CALL_TIMEOUT_MS ? 'cut' : 'server away')
    }
  }

  #none(what: string): null {
    this.#count(what)
    return null
  }

  #count(what: string): void {
    this.#requests[what] = (this.#requests[what] ?? 0) + 1
  }

  async #break(what: StormOptions['faults'][number]): Promise<void> {
    if (what === 'Postgres restarted') return this.#place.restartPostgres('immediate')
    const up = this.#place.servers.filter(({ state }) => state === 'up')
    const server: Server = this.#random.one(up)
    await this.#place.end(server, 'SIGKILL')
    await this.#place.start(server)
  }
}
