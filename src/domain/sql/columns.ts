/** The columns of the tables that handwritten SQL uses: their types, and whether they change. A missing column does not compile. */
import type {
  Deployment,
  Integration,
  Listener,
  Revision,
  SecretSet,
  Step,
  Tag,
  TracingProject,
} from '../../generated/prisma/client.ts'
import { snake } from '../parsing/naming.ts'

/** Type of a column. `time`: timestamptz(3); `texts`: text[] */
export type ColumnType = 'text' | 'int' | 'bool' | 'time' | 'bigint' | 'texts' | 'bytes' | 'json'
/** `fixed`: set on insert only · `derived`: set by Postgres only. Others change. */
export type Column = ColumnType | `fixed ${ColumnType}` | `derived ${ColumnType}`

type ColumnTypeOf<T> = [T] extends [Date]
  ? 'time'
  : [T] extends [string]
    ? 'text'
    : [T] extends [number]
      ? 'int'
      : [T] extends [boolean]
        ? 'bool'
        : [T] extends [bigint]
          ? 'bigint'
          : [T] extends [string[]]
            ? 'texts'
            : [T] extends [Uint8Array]
              ? 'bytes'
              : 'json'
type Columns<Row> = {
  [Name in keyof Row]: Column & `${'' | 'fixed ' | 'derived '}${ColumnTypeOf<NonNullable<Row[Name]>>}`
}

export const DEPLOYMENT = {
  id: 'fixed text',
  workspaceId: 'fixed text',
  name: 'fixed text',
  source: 'fixed text',
  integrationId: 'fixed text',
  repoUrl: 'fixed text',
  repositoryId: 'bigint',
  deploymentType: 'fixed text',
  buildOnPush: 'bool',
  customUrl: 'text',
  resourceSpec: 'json',
  listenerId: 'fixed text',
  k8sNamespace: 'fixed text',
  installCommand: 'text',
  buildCommand: 'text',
  secretReferences: 'json',
  secretSetId: 'text',
  imageVersion: 'text',
  tracingProjectId: 'text',
  createdBy: 'fixed text',
  createdAt: 'fixed time',
  updatedAt: 'time',
  editVersion: 'int',
  lastChange: 'json',
  deletedAt: 'time',
  tornDownAt: 'time',
  provisionedAt: 'time',
  idle: 'bool',
  url: 'text',
  health: 'json',
  reason: 'text',
  reasonSince: 'time',
  statusMessage: 'text',
  latestRevisionId: 'text',
  latestOutcome: 'text',
  attention: 'derived int',
  activeRevisionId: 'text',
  revisionCount: 'int',
  rollout: 'int',
  generation: 'int',
  claimId: 'text',
  leaseHolder: 'text',
  leaseToken: 'bigint',
  leaseExpiresAt: 'time',
  leaseDueAt: 'derived time',
  busyStepId: 'text',
} satisfies Columns<Deployment>

export const REVISION = {
  id: 'fixed text',
  deploymentId: 'fixed text',
  number: 'fixed int',
  status: 'text',
  reason: 'text',
  reasonSince: 'time',
  statusMessage: 'text',
  statusSince: 'time',
  attempt: 'int',
  rollout: 'int',
  source: 'fixed text',
  repoUrl: 'fixed text',
  repoRef: 'fixed text',
  graphConfigPath: 'fixed text',
  imageUri: 'fixed text',
  sourceTarballPath: 'fixed text',
  installCommand: 'fixed text',
  buildCommand: 'fixed text',
  secretSetId: 'fixed text',
  repoCommitSha: 'text',
  basedOnId: 'fixed text',
  artifact: 'text',
  commitMessage: 'text',
  commitAuthor: 'text',
  buildPlan: 'json',
  trigger: 'fixed text',
  createdBy: 'fixed text',
  createdActor: 'fixed json',
  createdAt: 'fixed time',
  rolloutAt: 'time',
  rolloutActor: 'json',
  supersededById: 'text',
  resourceSpec: 'json',
  secretReferences: 'json',
  updatedAt: 'time',
  deployedAt: 'time',
} satisfies Columns<Revision>

export const STEP = {
  id: 'fixed text',
  deploymentId: 'fixed text',
  kind: 'fixed text',
  revisionId: 'fixed text',
  createdAt: 'fixed time',
  notBefore: 'time',
  firstTakenAt: 'time',
  deadlineAt: 'time',
  pausedAt: 'time',
  tries: 'int',
  triesGivenBack: 'int',
  takenBy: 'texts',
  finishedAt: 'time',
  outcome: 'text',
  reason: 'text',
  finishedBy: 'bigint',
  offeredAt: 'time',
  offeredTo: 'text',
  builderClaimId: 'text',
  builderHolder: 'text',
  builderToken: 'bigint',
  builderLeaseExpiresAt: 'time',
} satisfies Columns<Step>

export const SECRET_SET = {
  id: 'fixed text',
  deploymentId: 'fixed text',
  names: 'fixed texts',
  setBy: 'fixed json',
  keyId: 'fixed text',
  wrappedKey: 'fixed bytes',
  ciphertext: 'fixed bytes',
  createdAt: 'fixed time',
} satisfies Columns<SecretSet>

export const LISTENER = {
  id: 'text',
  workspaceId: 'text',
  computeType: 'text',
  computeId: 'text',
  k8sNamespaces: 'texts',
  version: 'text',
  podClasses: 'texts',
  lastSeenAt: 'time',
  createdBy: 'text',
  createdAt: 'time',
  updatedAt: 'time',
  editVersion: 'int',
  toldSilent: 'bool',
} satisfies Columns<Listener>

export const INTEGRATION = {
  id: 'text',
  workspaceId: 'text',
  kind: 'text',
  name: 'text',
  installationId: 'bigint',
  account: 'text',
  suspendedAt: 'time',
  removedAt: 'time',
  createdAt: 'time',
} satisfies Columns<Integration>

export const TRACING_PROJECT = {
  id: 'text',
  workspaceId: 'text',
  name: 'text',
  createdAt: 'time',
} satisfies Columns<TracingProject>

export const TAG = {
  id: 'text',
  workspaceId: 'text',
  key: 'text',
  value: 'text',
  createdAt: 'time',
} satisfies Columns<Tag>

/** Columns whose name in the database is not the snake_case of their name in code (`@map` in schema.prisma). */
const MAPPED_COLUMNS: Readonly<Record<string, string>> = { editVersion: 'edit' }

/** The name of a column in the database. */
export const sqlColumn = (name: string): string => MAPPED_COLUMNS[name] ?? snake(name)

/** The type of a column, without `fixed` or `derived`. */
export const columnTypeOf = (column: Column): ColumnType => column.slice(column.indexOf(' ') + 1) as ColumnType
