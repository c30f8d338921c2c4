/**
 * The responses that are open. Not a `Set`: when V8 replaces the table of an old one, the former table keeps its responses, with all
 * that belongs to them, until the next full garbage collection. That took a quarter of the CPU time of a request.
 */
import type { ServerResponse } from 'node:http'

interface Entry {
  response: ServerResponse | null
  before: Entry
  after: Entry | null
}

export class OpenResponses {
  size = 0
  readonly #head = { response: null, after: null } as unknown as Entry

  /** Keeps it until it closes, then calls `onClose`. */
  add(response: ServerResponse, onClose: () => void = () => undefined): void {
    const entry: Entry = { response, before: this.#head, after: this.#head.after }
    if (entry.after) entry.after.before = entry
    this.#head.after = entry
    this.size++
    response.once('close', () => {
      entry.before.after = entry.after
      if (entry.after) entry.after.before = entry.before
      // an old entry must not keep newer ones
      Object.assign(entry, { response: null, before: null, after: null })
      this.size--
      onClose()
    })
  }

  /** In no order. A copy: each may close while the caller goes through them. */
  get all(): ServerResponse[] {
    const responses: ServerResponse[] = []
    for (let entry = this.#head.after; entry; entry = entry.after) responses.push(entry.response!)
    return responses
  }
}
