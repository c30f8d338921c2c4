/** A transport of events, as a subscriber uses it. */

/** The events to follow. Empty: the whole workspace's. */
export interface Scope {
  deploymentId?: string
  revisionId?: string
  /** Only status changes. */
  status?: true
}

export interface Got {
  cursor: string
  /** Content to compare with the log: `type revisionId to attempt`, the last three only for a status change. */
  says: string
}

/** The end of a stream. */
export interface End {
  /**
   * `complete`; `cut`: without a message; `no answer`: it never began; `left`: by the client; otherwise the code of an
   * error, or status and code of an answer that was not a stream.
   */
  how: string
  /** Cursor to continue from, if the server gave one. */
  cursor?: string
}

export interface Ask {
  /** Address of a server, without a path. */
  url: string
  key: string
  scope: Scope
  /** null: begin with the present. */
  after: string | null
  got(event: Got): void
  /** Reports that everything up to this cursor was received or filtered out. */
  at(cursor: string): void
  /** Reports a sign of life. */
  heard(): void
  /** Leaves the stream without telling the server. */
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
