/** What REST reads of a deployment. */
import { Prisma } from '../../generated/prisma/client.ts'
import { readAt } from '../change-feed/version.ts'
import { CONDITION_FIELDS, WHY_NOT_LIVE_FIELDS } from '../deployment-status/condition.ts'
import { RESTART_FIELDS } from '../deployment-status/serving.ts'
import { type Reading, selected } from '../query-engine/reading.ts'
import type { RowList, Select } from '../query-engine/rows.ts'
import { versionOf } from '../query-engine/statement.ts'
import { setWithoutValues } from '../secrets/secret-set.ts'
import { seesValues } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { BUILD_COLUMNS } from '../values/revision-source.ts'
import type { RevisionStatus } from '../values/row-types.ts'

/** The fields that REST shows, or needs to derive values. */
export const VIEW_FIELDS = {
  ...CONDITION_FIELDS,
  ...WHY_NOT_LIVE_FIELDS,
  ...RESTART_FIELDS,
  id: true,
  workspaceId: true,
  name: true,
  source: true,
  integrationId: true,
  repoUrl: true,
  deploymentType: true,
  buildOnPush: true,
  customUrl: true,
  access: true,
  idleMinutes: true,
  listenerId: true,
  k8sNamespace: true,
  ...BUILD_COLUMNS,
  secretReferences: true,
  imageVersion: true,
  createdAt: true,
  updatedAt: true,
  editVersion: true,
  provisionedAt: true,
  idle: true,
  restarts: true,
  url: true,
  latestRevisionId: true,
  secretSet: true,
  latestRevision: true,
} as const satisfies Prisma.DeploymentSelect

export type DeploymentView = Prisma.DeploymentGetPayload<{ select: typeof VIEW_FIELDS }>

/** `newestRollout`: the revision of the newest rollout, new or redeployed; empty: there is none. */
export type WaitingView = DeploymentView & { newestRollout: { status: RevisionStatus }[] }

const NEWEST_ROLLOUT: RowList<unknown> = {
  table: 'Revision',
  isBelow: (own, above) => `${own}.deployment_id = ${above}.id`,
  page: (own) => ({ where: Prisma.empty, order: Prisma.raw(`${own}.rollout DESC`), limit: Prisma.sql`LIMIT 1` }),
}

/** `values`: reads encrypted secrets; otherwise only their names. */
function createReading<View extends DeploymentView>(values: boolean, further: Select = {}): Reading<View> {
  const secretSet = values ? true : { select: { id: true, names: true } }
  const { send, decode } = selected<View>('Deployment', { select: { ...VIEW_FIELDS, ...further, secretSet } }, true)
  return {
    send,
    decode(row) {
      const view = decode(row)
      if (!values && view.secretSet) view.secretSet = setWithoutValues(view.secretSet.id, view.secretSet.names)
      return readAt([view], versionOf([row]))[0]!
    },
  }
}

function forCaller<View extends DeploymentView>(further?: Select): (ctx: RequestContext) => Reading<View> {
  const [withValues, withoutValues] = [createReading<View>(true, further), createReading<View>(false, further)]
  return ({ actor }) => (seesValues(actor) ? withValues : withoutValues)
}

export const viewReading = forCaller<DeploymentView>()
export const waitingReading = forCaller<WaitingView>({
  newestRollout: { list: NEWEST_ROLLOUT, select: { status: true } },
})
