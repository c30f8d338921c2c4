/**
 * What builds have made: revisions of one source share it. Which stay (docs/deployments.md#revisions-and-rollouts): those
 * of the last five revisions deployed, of the active one, and of what is in progress. All of it is known (claim-state.ts), and what
 * changes is recorded.
 */
import type { Tx } from '../transaction/context.ts'
import { type ClaimState, KEPT_OLD_ARTIFACTS, knownOf } from './claim-state.ts'

/** What the holder has to keep. `gone`: what this call has forgotten or lost. */
export function keptArtifacts(tx: Tx, { deployment, artifacts }: ClaimState, gone: ReadonlySet<string>): string[] {
  const ended = artifacts.filter(({ name, ended }) => ended && !gone.has(name)).map(({ name }) => name)
  const known = knownOf(tx, deployment).revisions.flatMap(({ artifact }) => artifact ?? [])
  return [...new Set([...ended, ...known])]
}

/** A build has succeeded. Those that wait with the same source, and are not even at their turn, need none of their own any more. */
export function recordArtifact(tx: Tx, { deployment }: ClaimState, revisionId: string, artifact: string | null): void {
  const { revisions } = knownOf(tx, deployment)
  const built = revisions.find(({ id }) => id === revisionId)!
  const source = built.basedOnId ?? built.id
  for (const { id, basedOnId, artifact: own, status } of revisions) {
    const waits = basedOnId === source && own === null && (status === 'CREATING' || status === 'QUEUED')
    if (id === revisionId || waits) tx.unit.update('revision', id, { artifact })
  }
}

/** Its holder has that of this revision no more: whichever has it is built again. Returns what is gone. */
export function forgetLostArtifact(tx: Tx, { deployment, siblings }: ClaimState, revisionId: string): string[] {
  const lost = knownOf(tx, deployment).revisions.find(({ id }) => id === revisionId)?.artifact
  for (const id of siblings) tx.unit.update('revision', id, { artifact: null })
  return lost ? [lost] : []
}

/**
 * After a deploy of this revision. Forgets the others: a redeploy of theirs builds again, and their holder removes what it has
 * of them. Five different ones are kept, so that many changes of secrets alone leave the way back open. Returns what is gone.
 */
export function pruneArtifacts(tx: Tx, { deployment, artifacts }: ClaimState, revisionId: string): string[] {
  const deployed = knownOf(tx, deployment).revisions.find(({ id }) => id === revisionId)!.artifact
  const others = artifacts.filter(({ name }) => name !== deployed)
  const before = others
    .filter(({ deployedAt }) => deployedAt !== null)
    .sort((a, b) => b.deployedAt!.getTime() - a.deployedAt!.getTime())
  const kept = new Set(before.slice(0, deployed === null ? KEPT_OLD_ARTIFACTS + 1 : KEPT_OLD_ARTIFACTS))
  const forgotten = others.filter((one) => !kept.has(one))
  for (const { endedIds } of forgotten) for (const id of endedIds) tx.unit.update('revision', id, { artifact: null })
  return forgotten.map(({ name }) => name)
}
