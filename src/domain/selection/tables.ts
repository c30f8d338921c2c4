/** The tables that hot reads select from: each column with what it holds, and the relations that lead to one row. */
import type {
  Deployment,
  Integration,
  Listener,
  Revision,
  SecretSet,
  Tag,
  TracingProject,
} from '../../generated/prisma/client.ts'
import { snake } from '../core/naming.ts'

/** What a column holds. `time`: timestamptz(3); `texts`: text[] */
export type Kind = 'text' | 'int' | 'bool' | 'time' | 'bigint' | 'texts' | 'bytes' | 'json'

type KindOf<T> = [T] extends [Date]
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
type Columns<Row> = { [Name in keyof Row]: KindOf<NonNullable<Row[Name]>> }

interface Table {
  /** in Postgres */
  name: string
  columns: Readonly<Record<string, Kind>>
  /** by name: the table that it leads to, and the column that has the id there */
  relations: Readonly<Record<string, readonly [table: TableName, column: string]>>
}
export type TableName = 'Deployment' | 'Revision' | 'Listener' | 'Integration' | 'SecretSet' | 'TracingProject' | 'Tag'

const revisions: Columns<Revision> = {
  id: 'text',
  deploymentId: 'text',
  number: 'int',
  status: 'text',
  reason: 'text',
  reasonSince: 'time',
  statusMessage: 'text',
  statusSince: 'time',
  attempt: 'int',
  rollout: 'int',
  source: 'text',
  repoUrl: 'text',
  repoRef: 'text',
  graphConfigPath: 'text',
  imageUri: 'text',
  sourceTarballPath: 'text',
  installCommand: 'text',
  buildCommand: 'text',
  secretSetId: 'text',
  repoCommitSha: 'text',
  basedOnId: 'text',
  artifact: 'text',
  createdBy: 'text',
  createdAt: 'time',
  updatedAt: 'time',
  deployedAt: 'time',
}

const deployments: Columns<Deployment> = {
  id: 'text',
  workspaceId: 'text',
  name: 'text',
  source: 'text',
  integrationId: 'text',
  repoUrl: 'text',
  deploymentType: 'text',
  buildOnPush: 'bool',
  customUrl: 'text',
  resourceSpec: 'json',
  listenerId: 'text',
  k8sNamespace: 'text',
  installCommand: 'text',
  buildCommand: 'text',
  secretReferences: 'json',
  secretSetId: 'text',
  imageVersion: 'text',
  tracingProjectId: 'text',
  createdBy: 'text',
  createdAt: 'time',
  updatedAt: 'time',
  edit: 'int',
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
  activeRevisionId: 'text',
  revisionCount: 'int',
  rollout: 'int',
  generation: 'int',
  claimId: 'text',
  leaseHolder: 'text',
  leaseToken: 'bigint',
  leaseExpiresAt: 'time',
  busyStepId: 'text',
}

const listeners: Columns<Listener> = {
  id: 'text',
  workspaceId: 'text',
  computeType: 'text',
  computeId: 'text',
  k8sNamespaces: 'texts',
  version: 'text',
  lastSeenAt: 'time',
  createdBy: 'text',
  createdAt: 'time',
  updatedAt: 'time',
  edit: 'int',
}

const integrations: Columns<Integration> = {
  id: 'text',
  workspaceId: 'text',
  kind: 'text',
  name: 'text',
  installationId: 'bigint',
  account: 'text',
  suspendedAt: 'time',
  removedAt: 'time',
  createdAt: 'time',
}

const secretSets: Columns<SecretSet> = {
  id: 'text',
  deploymentId: 'text',
  names: 'texts',
  keyId: 'text',
  wrappedKey: 'bytes',
  ciphertext: 'bytes',
  createdAt: 'time',
}

const tracingProjects: Columns<TracingProject> = { id: 'text', workspaceId: 'text', name: 'text', createdAt: 'time' }
const tags: Columns<Tag> = { id: 'text', workspaceId: 'text', key: 'text', value: 'text', createdAt: 'time' }

export const TABLES: Readonly<Record<TableName, Table>> = {
  Deployment: {
    name: 'deployments',
    columns: deployments,
    relations: {
      latestRevision: ['Revision', 'latestRevisionId'],
      activeRevision: ['Revision', 'activeRevisionId'],
      listener: ['Listener', 'listenerId'],
      integration: ['Integration', 'integrationId'],
      secretSet: ['SecretSet', 'secretSetId'],
      tracingProject: ['TracingProject', 'tracingProjectId'],
    },
  },
  Revision: { name: 'revisions', columns: revisions, relations: { deployment: ['Deployment', 'deploymentId'] } },
  Listener: { name: 'listeners', columns: listeners, relations: {} },
  Integration: { name: 'integrations', columns: integrations, relations: {} },
  SecretSet: { name: 'secret_sets', columns: secretSets, relations: {} },
  TracingProject: { name: 'tracing_projects', columns: tracingProjects, relations: {} },
  Tag: { name: 'tags', columns: tags, relations: {} },
}

/** The column of a field, as SQL. All columns are named alike. */
export const columnOf = (field: string): string => `"${snake(field)}"`
