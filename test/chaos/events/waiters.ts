/**
 * Clients that wait for the end of a revision (`?wait=60`), in a loop: each must get the status that the revision
 * ended with.
 */
import type { Place } from './place.ts'
import type { Log } from './truth.ts'
import { pause } from './waiting.ts'

/** Time in ms that a call may wait, plus a margin. */
const WAIT_TIMEOUT_MS = 70_000

export interface Waiters {
  /** Starts no new wait. Resolves when the open ones are answered, or with `signal`. */
  finish(signal: AbortSignal): Promise<void>
  /**
   * Number of answers, of answers that differ from the log, and of waits without an answer although the revision ended
   * a while ago.
   */
  judge(log: Log): { answered: number; wrong: number; forgotten: number; again: number }
}

interface Answer {
  revisionId: string
  status: string
}

export function startWaiters(
  place: Place,
  key: string,
  revisions: readonly { id: string; deploymentId: string }[],
  count: number,
): Waiters {
  const answers: Answer[] = []
  const leaving = new AbortController()
  let finishing = false
  const unanswered: { id: string; givenUp: number }[] = []
  let again = 0

  async function wait(first: number): Promise<void> {
    while (!finishing) {
      const revision = revisions.at(-1)
      const status = revision && (await ended(revision, first))
      if (status) answers.push({ revisionId: revision.id, status })
      else if (revision) unanswered.push({ id: revision.id, givenUp: Date.now() })
      else await pause(50)
    }
  }

  /** Uses any server, as often as needed. Null: the wait was given up. */
  async function ended({ id, deploymentId }: (typeof revisions)[number], first: number): Promise<string | null> {
    for (let turn = first; !leaving.signal.aborted; turn++) {
      // bypasses the proxy: a silenced connection never answers, and that would not be the server's fault
      const { direct: url } = place.servers[turn % place.servers.length]!
      try {
        const response = await fetch(`${url}/v2/deployments/${deploymentId}/revisions/${id}?wait=60`, {
          headers: { 'x-api-key': key },
          signal: AbortSignal.any([leaving.signal, AbortSignal.timeout(WAIT_TIMEOUT_MS)]),
        })
        const body = await response.json()
        if (response.ok && TERMINAL.test(body.status)) return body.status
      } catch {
        // the server or the connection is gone
      }
      again++
      await pause(100)
    }
    return null
  }

  const running = Array.from({ length: count }, (_, i) => wait(i))
  return {
    async finish(signal) {
      finishing = true
      signal.addEventListener('abort', () => leaving.abort())
      await Promise.all(running)
    },
    judge({ rows }) {
      const last = new Map(rows.flatMap((row) => (row.revisionId && row.to ? [[row.revisionId, row] as const] : [])))
      const wrong = answers.filter(({ revisionId, status }) => last.get(revisionId)?.to !== status).length
      const forgotten = unanswered.filter(({ id, givenUp }) => {
        const end = last.get(id)
        return end && TERMINAL.test(end.to!) && end.at < givenUp - ANSWER_TIMEOUT_MS
      }).length
      return { answered: answers.length, wrong, forgotten, again }
    },
  }
}

/** Time in ms for an answer, also on a busy machine. */
const ANSWER_TIMEOUT_MS = 5_000
const TERMINAL = /^(DEPLOYED|SKIPPED|INTERRUPTED|\w+_FAILED)$/
