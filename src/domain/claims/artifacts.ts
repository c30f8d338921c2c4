/** Decides which build artifacts a holder keeps (README.md). Sends no statement; claim-state.ts reads everything. */
import type { Tx } from '../transaction/context.ts'
import { type ClaimState, KEPT_OLD_ARTIFACTS, loadedAggregate } from './claim-state.ts'

/** Names of the artifacts to keep. `removedArtifacts`: those that this call forgot or lost. */
export function keptArtifacts(
  tx: Tx,
  { deployment, artifacts }: ClaimState,
  removedArtifacts: ReadonlySet<string>,
): string[] {
  const ended = artifacts.filter(({ name, ended }) => ended && !removedArtifacts.has(name)).map(({ name }) => name)
  const known = loadedAggregate(tx, deployment).revisions.flatMap(({ artifact }) => artifact ?? [])
  return [...new Set([...ended, ...known])]
}

/** Stores the artifact of a successful build, also for waiting revisions of the same source, which then need no build. */
export function recordArtifact(tx: Tx, { deployment }: ClaimState, revisionId: string, artifact: string | null): void {
  const { revisions } = loadedAggregate(tx, deployment)
  const built = revisions.find(({ id }) => id === revisionId)!
  const source = built.basedOnId ?? built.id
  for (const { id, basedOnId, artifact: own, status } of revisions) {
    const waits = basedOnId === source && own === null && (status === 'CREATING' || status === 'QUEUED')
    if (id === revisionId || waits) tx.unit.update('revision', id, { artifact })
  }
}

/** Forgets the artifact of a revision after its holder lost it. All revisions with it are built again. Returns its name. */
export function forgetLostArtifact(tx: Tx, { deployment, siblings }: ClaimState, revisionId: string): string[] {
  const lost = loadedAggregate(tx, deployment).revisions.find(({ id }) => id === revisionId)?.artifact
  for (const id of siblings) tx.unit.update('revision', id, { artifact: null })
  return lost ? [lost] : []
}

/** After a deploy, forgets all but five different artifacts (README.md) and returns the forgotten names. */
export function pruneArtifacts(tx: Tx, { deployment, artifacts }: ClaimState, revisionId: string): string[] {
  const deployed = loadedAggregate(tx, deployment).revisions.find(({ id }) => id === revisionId)!.artifact
  const others = artifacts.filter(({ name }) => name !== deployed)
  const before = others
    .filter(({ deployedAt }) => deployedAt !== null)
    .sort((a, b) => b.deployedAt!.getTime() - a.deployedAt!.getTime())
  const kept = new Set(before.slice(0, deployed === null ? KEPT_OLD_ARTIFACTS + 1 : KEPT_OLD_ARTIFACTS))
  const forgotten = others.filter((one) => !kept.has(one))
  for (const { endedIds } of forgotten) for (const id of endedIds) tx.unit.update('revision', id, { artifact: null })
  return forgotten.map(({ name }) => name)
}
