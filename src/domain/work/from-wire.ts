/** The JSON of wire.ts as the types of the data-plane protocol. */
import { knownReason } from '../reasons.ts'
import type { Assignment, Claim, EffectiveSpec, HeartbeatItem, Progress, RevisionWork, Run, Step } from './protocol.ts'
import type { assignment, claim, heartbeatItem, revisionWork, run, step, Wire } from './wire.ts'

const revisionFromWire = (r: Wire<typeof revisionWork>): RevisionWork => ({
  id: r.id,
  number: r.number,
  attempt: r.attempt,
  source: r.source,
  repoUrl: r.repo_url,
  repoRef: r.repo_ref,
  repoCommitSha: r.repo_commit_sha,
  graphConfigPath: r.graph_config_path,
  imageUri: r.image_uri,
  sourceTarballPath: r.source_tarball_path,
  installCommand: r.install_command,
  buildCommand: r.build_command,
  artifact: r.artifact,
  secrets: r.secrets,
})

const runFromWire = (r: Wire<typeof run>): Run => ({
  revision: revisionFromWire(r.revision),
  spec: r.spec as EffectiveSpec,
  secretReferences: r.secret_references,
  customUrl: r.custom_url,
})

const stepFromWire = (s: Wire<typeof step>): Step => ({
  id: s.id,
  kind: s.kind,
  tries: s.tries,
  // a control plane of an older version does not say how many are left
  secondsLeft: s.seconds_left ?? (Date.parse(s.deadline_at) - Date.now()) / 1000,
  revision: s.revision && revisionFromWire(s.revision),
  spec: s.spec as EffectiveSpec,
  secretReferences: s.secret_references,
  customUrl: s.custom_url,
})

export const assignmentFromWire = (a: Wire<typeof assignment>): Assignment => ({
  generation: a.generation,
  run: a.run && runFromWire(a.run),
  step: a.step && stepFromWire(a.step),
  stop: a.stop,
  keepArtifacts: a.keep_artifacts,
})

export const claimFromWire = (c: Wire<typeof claim>): Claim => ({
  ...assignmentFromWire(c),
  claimId: c.claim_id,
  token: c.token,
  deployment: {
    id: c.deployment.id,
    workspaceId: c.deployment.workspace_id,
    name: c.deployment.name,
    k8sNamespace: c.deployment.k8s_namespace,
    provisioned: c.deployment.provisioned,
  },
  leaseSeconds: c.lease_seconds,
})

export const heartbeatItemFromWire = (item: Wire<typeof heartbeatItem>): HeartbeatItem => ({
  claimId: item.claim_id,
  token: item.token,
  ...(item.generation === undefined ? {} : { generation: item.generation }),
  ...(item.progress === undefined ? {} : { progress: progressFromWire(item.progress) }),
  ...(item.health ? { health: { ...item.health, reason: knownReason(item.health.reason, null) } } : {}),
  ...(item.idle == null ? {} : { idle: item.idle }),
})

/** Before there were reasons it was a text. */
function progressFromWire(progress: NonNullable<Wire<typeof heartbeatItem>['progress']> | null): Progress | null {
  if (progress === null) return null
  if (typeof progress === 'string') return { reason: 'IN_PROGRESS', message: progress }
  return { reason: knownReason(progress.reason, 'IN_PROGRESS'), message: progress.message }
}
