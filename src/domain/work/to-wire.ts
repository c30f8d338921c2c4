/** The types of the data-plane protocol as the JSON of wire.ts. */
import type { z } from 'zod'
import type { Assignment, Claim, CompleteAnswer, HeartbeatAnswer, HeartbeatItem, RevisionWork } from './protocol.ts'
import type {
  assignment,
  claimAnswer,
  completeAnswer,
  heartbeatAnswer,
  heartbeatItem,
  revisionWork,
  Wire,
} from './wire.ts'

const revisionToWire = (r: RevisionWork): Wire<typeof revisionWork> => ({
  id: r.id,
  number: r.number,
  attempt: r.attempt,
  source: r.source,
  repo_url: r.repoUrl,
  repo_ref: r.repoRef,
  repo_commit_sha: r.repoCommitSha,
  graph_config_path: r.graphConfigPath,
  image_uri: r.imageUri,
  source_tarball_path: r.sourceTarballPath,
  install_command: r.installCommand,
  build_command: r.buildCommand,
  artifact: r.artifact,
  secrets: r.secrets,
})

export function assignmentToWire({ generation, run, step, stop, keepArtifacts }: Assignment): Wire<typeof assignment> {
  return {
    generation,
    run: run && {
      revision: revisionToWire(run.revision),
      spec: run.spec,
      secret_references: run.secretReferences,
      custom_url: run.customUrl,
    },
    step: step && {
      id: step.id,
      kind: step.kind,
      tries: step.tries,
      seconds_left: step.secondsLeft,
      deadline_at: new Date(Date.now() + step.secondsLeft * 1000).toISOString(),
      revision: step.revision && revisionToWire(step.revision),
      spec: step.spec,
      secret_references: step.secretReferences,
      custom_url: step.customUrl,
    },
    stop,
    keep_artifacts: keepArtifacts,
  }
}

export function claimToWire(claim: Claim): Wire<typeof claimAnswer>['claims'][number] {
  const { id, workspaceId, name, k8sNamespace, provisioned } = claim.deployment
  return {
    ...assignmentToWire(claim),
    claim_id: claim.claimId,
    token: claim.token,
    deployment: { id, workspace_id: workspaceId, name, k8s_namespace: k8sNamespace, provisioned },
    lease_seconds: claim.leaseSeconds,
  }
}

export const heartbeatAnswerToWire = (answer: HeartbeatAnswer): Wire<typeof heartbeatAnswer>['claims'][number] => ({
  claim_id: answer.claimId,
  lost: answer.lost,
  assignment: answer.assignment && assignmentToWire(answer.assignment),
})

export const completeAnswerToWire = (answer: CompleteAnswer): Wire<typeof completeAnswer> => ({
  recorded: answer.recorded,
  assignment: assignmentToWire(answer.assignment),
})

export const heartbeatItemToWire = (item: HeartbeatItem): z.input<typeof heartbeatItem> => ({
  claim_id: item.claimId,
  token: item.token,
  ...(item.generation === undefined ? {} : { generation: item.generation }),
  ...(item.progress === undefined ? {} : { progress: item.progress }),
  ...(item.health ? { health: item.health } : {}),
  ...(item.idle === undefined ? {} : { idle: item.idle }),
})
