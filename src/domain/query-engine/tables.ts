/** The tables of the query engine: their columns, and the relations that lead to one row. */

import {
  type Column,
  type ColumnType,
  columnTypeOf,
  DEPLOYMENT,
  INTEGRATION,
  LISTENER,
  REVISION,
  SECRET_SET,
  sqlColumn,
  TAG,
  TRACING_PROJECT,
} from '../sql/columns.ts'

interface Table {
  name: string
  columns: Readonly<Record<string, ColumnType>>
  /** by name: the table that the relation leads to, and the column with the foreign key */
  relations: Readonly<Record<string, readonly [table: TableName, column: string]>>
}
export type TableName = 'Deployment' | 'Revision' | 'Listener' | 'Integration' | 'SecretSet' | 'TracingProject' | 'Tag'

const columnTypes = (columns: Record<string, Column>): Record<string, ColumnType> =>
  Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, columnTypeOf(column)]))

export const TABLES: Readonly<Record<TableName, Table>> = {
  Deployment: {
    name: 'deployments',
    columns: columnTypes(DEPLOYMENT),
    relations: {
      latestRevision: ['Revision', 'latestRevisionId'],
      activeRevision: ['Revision', 'activeRevisionId'],
      listener: ['Listener', 'listenerId'],
      integration: ['Integration', 'integrationId'],
      secretSet: ['SecretSet', 'secretSetId'],
      tracingProject: ['TracingProject', 'tracingProjectId'],
    },
  },
  Revision: {
    name: 'revisions',
    columns: columnTypes(REVISION),
    relations: { deployment: ['Deployment', 'deploymentId'] },
  },
  Listener: { name: 'listeners', columns: columnTypes(LISTENER), relations: {} },
  Integration: { name: 'integrations', columns: columnTypes(INTEGRATION), relations: {} },
  SecretSet: { name: 'secret_sets', columns: columnTypes(SECRET_SET), relations: {} },
  TracingProject: { name: 'tracing_projects', columns: columnTypes(TRACING_PROJECT), relations: {} },
  Tag: { name: 'tags', columns: columnTypes(TAG), relations: {} },
}

export const columnOf = (field: string): string => `"${sqlColumn(field)}"`
