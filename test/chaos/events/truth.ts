/** The final log, and the comparison with each subscriber: every event of its scope after its start, once, in order. */
import { eventCursor } from '../../../src/domain/events/range.ts'
import type { Place } from './place.ts'
import type { Subscriber } from './subscribers/subscriber.ts'
import { type Scope, says } from './subscribers/wire.ts'

interface Row {
  sequence: number
  type: string
  deploymentId: string | null
  revisionId: string | null
  to: string | null
  attempt: number | null
  /** in ms */
  at: number
}

export interface Log {
  rows: readonly Row[]
  /** Sequence numbers by cursor. */
  at: ReadonlyMap<string, number>
  /** Cursors by sequence number. */
  cursor(sequence: number): string
}

export interface Verdict {
  delivered: number
  lost: number
  doubled: number
  outOfOrder: number
  /** Events that are not in the log, not of its scope, or have different content. */
  wrong: number
}

export const NONE: Verdict = { delivered: 0, lost: 0, doubled: 0, outOfOrder: 0, wrong: 0 }

/** Throws if the numbers have a gap, because then there is nothing to compare with. */
export async function readLog(place: Place): Promise<Log> {
  const [workspace] = await place.rows<{ id: string }>('SELECT id::text FROM workspaces')
  const rows = await place.rows<Row>(
    `SELECT sequence::int, type, deployment_id::text AS "deploymentId", revision_id::text AS "revisionId",
            to_status::text AS "to", attempt, extract(epoch FROM occurred_at)::float8 * 1000 AS at FROM events ORDER BY sequence`,
  )
  const gap = rows.find(({ sequence }, i) => sequence !== i + 1)
  if (gap) throw new Error(`the log has a gap before ${gap.sequence}`)
  const cursor = (sequence: number) => eventCursor({ workspaceId: workspace!.id, sequence: BigInt(sequence) })
  return { rows, at: new Map([0, ...rows.map(({ sequence }) => sequence)].map((n) => [cursor(n), n])), cursor }
}

/** Whether it has received the last event of its scope. */
export function isUpToDate({ rows, at }: Log, { scope, got, snapshot }: Subscriber): boolean {
  const has = at.get(got.at(-1)?.cursor ?? snapshot?.cursor ?? '') ?? -1
  for (let i = rows.length - 1; i >= 0; i--) if (wants(scope, rows[i]!)) return has >= rows[i]!.sequence
  return true
}

/** `toTheEnd`: whether it followed to the end of the log. Otherwise it is judged by what it received before it left. */
export function judge({ rows, at }: Log, { scope, got, snapshot, began }: Subscriber, toTheEnd: boolean): Verdict {
  const verdict = { ...NONE, delivered: got.length }
  const seen = new Set<number>()
  const begin = at.get(snapshot?.cursor ?? began ?? '') ?? 0
  let last = begin
  for (const { cursor, says: said } of got) {
    const row = rows[(at.get(cursor) ?? 0) - 1]
    if (!row || row.sequence <= begin || !wants(scope, row) || says(row) !== said) verdict.wrong++
    else if (seen.has(row.sequence)) verdict.doubled++
    else {
      seen.add(row.sequence)
      if (row.sequence < last) verdict.outOfOrder++
      else last = row.sequence
    }
  }
  const end = toTheEnd ? rows.length : last
  for (const row of rows)
    if (row.sequence > begin && row.sequence <= end && wants(scope, row) && !seen.has(row.sequence)) verdict.lost++
  return verdict
}

function wants({ deploymentId, revisionId, status }: Scope, row: Row): boolean {
  return (
    (deploymentId === undefined || row.deploymentId === deploymentId) &&
    (revisionId === undefined || row.revisionId === revisionId) &&
    (!status || row.type === 'revision.status')
  )
}
