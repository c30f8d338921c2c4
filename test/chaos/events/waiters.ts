/** Clients that wait for the end of a revision (`?wait=60`), one after the other: each is to be told the status that it ended with. */
import type { Place } from './place.ts'
import type { Log } from './truth.ts'
import { pause } from './waiting.ts'

/** ms: so long is asked for, and then some */
const LONGEST = 70_000

export interface Waiters {
  /** Nothing is waited for any more but what already is. Resolves when that was answered, or with `signal`. */
  finish(signal: AbortSignal): Promise<void>
  /**
   * How many were answered; how many of these with something else than what the log says of the revision's end; and how many
   * were not, although it had ended for a while.
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

  /** With whichever server, as often as it takes. Null: it was given up. */
  async function ended({ id, deploymentId }: (typeof revisions)[number], first: number): Promise<string | null> {
    for (let turn = first; !leaving.signal.aborted; turn++) {
      // past the proxy: on a connection that went silent nothing is ever answered, whoever is at fault
      const { direct: url } = place.servers[turn % place.servers.length]!
      try {
        const response = await fetch(`${url}/v2/deployments/${deploymentId}/revisions/${id}?wait=60`, {
          headers: { 'x-api-key': key },
          signal: AbortSignal.any([leaving.signal, AbortSignal.timeout(LONGEST)]),
        })
        const body = await response.json()
        if (response.ok && TERMINAL.test(body.status)) return body.status
      } catch {
        // its server is gone, or the connection is
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
        return end && TERMINAL.test(end.to!) && end.at < givenUp - AWHILE
      }).length
      return { answered: answers.length, wrong, forgotten, again }
    },
  }
}

/** ms in which an answer comes also on a busy machine */
const AWHILE = 5_000
const TERMINAL = /^(DEPLOYED|SKIPPED|INTERRUPTED|\w+_FAILED)$/
