/**
 * What the rules look at of a deployment that is locked, in one statement: to be read after the lock is held, since a statement
 * does not see what was committed while it waited. Everything of it changes only under that lock, so it is read once.
 */
import type { Tx } from '../context/context.ts'
import { fromJson } from '../context/tables.ts'
import type { Facts } from '../context/unit.ts'
import { OPEN } from '../model/lifecycle.ts'
import type { LockedDeployment } from './locks.ts'

export interface Asked {
  /** a revision of it that is to be among them, if there is one */
  revisionId?: string
  /** also the steps that are over, if somebody has taken them */
  begun?: boolean
  /** also the values of its secrets, sealed as they are */
  values?: boolean
}

interface Row {
  revisions: Record<string, unknown>[] | null
  steps: Record<string, unknown>[] | null
  set: Record<string, unknown> | null
  listener: Facts['listener']
}

/** $1: the deployment · $2: a revision, or null · $3: whether the steps that are over are read · $4: the values of secrets */
const FACTS = {
  name: 'facts of a deployment',
  text: `
    SELECT (SELECT json_agg(r) FROM revisions r WHERE r.id = ANY (ARRAY(
              SELECT o.id FROM revisions o WHERE o.deployment_id = d.id AND o.status IN (${OPEN.map((status) => `'${status}'`).join(', ')}))
              || ARRAY[d.latest_revision_id, d.active_revision_id, $2::uuid]) AND r.deployment_id = d.id) AS revisions,
           (SELECT json_agg(s) FROM steps s WHERE s.deployment_id = d.id
              AND (s.finished_at IS NULL OR ($3::boolean AND s.first_taken_at IS NOT NULL))) AS steps,
           (SELECT CASE WHEN $4::boolean THEN row_to_json(x)
                        ELSE json_build_object('id', x.id, 'deployment_id', x.deployment_id, 'names', x.names, 'key_id', '',
                                               'wrapped_key', '', 'ciphertext', '', 'created_at', x.created_at) END
            FROM secret_sets x WHERE x.id = d.secret_set_id) AS set,
           (SELECT json_build_object('id', l.id, 'computeId', l.compute_id, 'lastSeenAt', l.last_seen_at, 'createdAt', l.created_at)
            FROM listeners l WHERE l.id = d.listener_id) AS listener
    FROM deployments d WHERE d.id = $1::uuid`,
}

/** One statement, or none where this transaction knows it. */
export async function factsOf(tx: Tx, { id }: LockedDeployment, asked: Asked = {}): Promise<Facts> {
  const known = tx.unit.known.get(id)
  if (known && has(known, asked)) return known
  const { revisionId = null, begun = false, values = false } = asked
  const [row] = await tx.query<Row>(FACTS, [id, revisionId, begun, values])
  const facts: Facts = {
    revisions: (row?.revisions ?? []).map((json) => fromJson('revision', json)),
    steps: (row?.steps ?? []).map((json) => fromJson('step', json)),
    secretSet: row?.set ? fromJson('secretSet', row.set) : null,
    listener: row?.listener ? withTimes(row.listener) : null,
    begun,
    values,
    asked: revisionId,
  }
  tx.unit.known.set(id, facts)
  return facts
}

const has = (known: Facts, { revisionId, begun, values }: Asked): boolean =>
  (!begun || known.begun) &&
  (!values || known.values) &&
  (revisionId === undefined || known.asked === revisionId || known.revisions.some(({ id }) => id === revisionId))

/** In JSON they are text. */
const withTimes = (listener: NonNullable<Facts['listener']>) => ({
  ...listener,
  lastSeenAt: listener.lastSeenAt && new Date(listener.lastSeenAt),
  createdAt: new Date(listener.createdAt),
})
