/** Examples of events and of deployment changes, by schema id. */
import { CREATED, ID } from './ids.ts'

const WORKSPACE_LOG = (sequence: number) =>
  Buffer.from(JSON.stringify([ID.workspace, String(sequence)])).toString('base64url')

const updated = {
  cursor: WORKSPACE_LOG(41),
  type: 'deployment.updated',
  deployment_id: ID.deployment,
  revision_id: null,
  subject_id: null,
  from: null,
  to: null,
  reason: null,
  message: null,
  attempt: null,
  changed: ['resource_spec', 'secrets'],
  actor: { kind: 'api_key', name: 'ci', id: ID.key },
  occurred_at: CREATED,
}

const building = {
  ...updated,
  cursor: WORKSPACE_LOG(42),
  type: 'revision.status',
  revision_id: ID.revision,
  from: 'AWAITING_BUILD',
  to: 'BUILDING',
  attempt: 1,
  changed: [],
  actor: { kind: 'worker', name: null, id: null },
}

export const EVENT_EXAMPLES = {
  Event: building,
  DeploymentsChange: {
    cursor: Buffer.from(JSON.stringify(['changes', ID.workspace, '7'])).toString('base64url'),
    deployment_ids: [ID.deployment],
  },
  EventPage: { resources: [updated, building], next_cursor: WORKSPACE_LOG(42) },
}
