/**
 * A careful subscriber: it remembers its cursor, and when its server stops, it continues with another one from there.
 */
import { type Client, createClient } from 'graphql-sse'

export interface StatusEvent {
  cursor: string
  from: string | null
  to: string
  message: string | null
  revision: { id: string }
}

const QUERY = `subscription Follow($deploymentId: ID!, $after: String) {
  revisionStatusChanged(deploymentId: $deploymentId, after: $after) { cursor from to message revision { id } }
}`

export class Follower {
  readonly events: StatusEvent[] = []
  readonly #servers: () => string[]
  readonly #key: string
  readonly #deploymentId: string
  readonly #waiting = new Set<() => void>()
  #client: Client | null = null
  #closed = false
  readonly done: Promise<void>

  /** `servers`: returns the addresses to try, at any time. */
  constructor(servers: () => string[], key: string, deploymentId: string) {
    this.#servers = servers
    this.#key = key
    this.#deploymentId = deploymentId
    this.done = this.#run()
  }

  async #run(): Promise<void> {
    for (let turn = 0; !this.#closed; turn++) {
      const servers = this.#servers()
      const url = `${servers[turn % servers.length]}/graphql`
      this.#client = createClient({ url, headers: { 'x-api-key': this.#key }, retryAttempts: 0 })
      try {
        const variables = { deploymentId: this.#deploymentId, after: this.events.at(-1)?.cursor }
        for await (const { data, errors } of this.#client.iterate({ query: QUERY, variables })) {
          if (errors) throw new Error(JSON.stringify(errors))
          this.events.push(data!.revisionStatusChanged as StatusEvent)
          for (const check of this.#waiting) check()
        }
      } catch {
        // its server stops or has stopped: try the next one, from the cursor
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }

  /** Resolves with the first event from index `from` that matches `wanted`. */
  until(wanted: (event: StatusEvent) => boolean, from = 0): Promise<StatusEvent> {
    return new Promise((resolve) => {
      const check = () => {
        const found = this.events.slice(from).find(wanted)
        if (!found) return
        this.#waiting.delete(check)
        resolve(found)
      }
      this.#waiting.add(check)
      check()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#client?.dispose()
    await this.done
  }
}
