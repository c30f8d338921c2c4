/** A way in which events come to a client: what every transport of the API is to a subscriber. */

/** Whose events. Empty: the whole workspace's. */
export interface Scope {
  deploymentId?: string
  revisionId?: string
  /** only changes of status */
  status?: true
}

export interface Got {
  cursor: string
  /** what was said of it, to be compared with the log: `type revisionId to attempt`, the last three only of a change of status */
  says: string
}

/** How a stream was ended. */
export interface End {
  /**
   * `complete`; `cut`: without a word; `no answer`: it never began; `left`: by the client; otherwise the code of an error, or status and code of an
   * answer that was no stream
   */
  how: string
  /** where to go on, if the server said so */
  cursor?: string
}

export interface Ask {
  /** of a server, without a path */
  url: string
  key: string
  scope: Scope
  /** null: from the present on */
  after: string | null
  got(event: Got): void
  /** It has everything up to this cursor, if only because nothing of it is wanted. */
  at(cursor: string): void
  /** Something came, if only a sign of life. */
  heard(): void
  /** Leaves the stream, without a word to the server. */
  signal: AbortSignal
}

/** Follows until the stream ends. Never throws. */
export type Wire = (ask: Ask) => Promise<End>

export const CUT: End = { how: 'cut' }
export const NO_ANSWER: End = { how: 'no answer' }

export function says(event: {
  type?: string
  revisionId?: string | null
  to?: string | null
  attempt?: number | null
}): string {
  const { type = 'revision.status', revisionId, to, attempt } = event
  return type === 'revision.status' ? [type, revisionId, to, attempt].join(' ') : type
}
