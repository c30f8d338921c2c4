/**
 * The only list of fields that can be compiled, and how each is read. A document with any other field (events, secrets, …)
 * is executed by Pothos.
 */
import { CLOCK_DERIVED_FIELDS, DERIVED_FIELDS } from '../../../domain/deployment-status/derived-fields.ts'
import { deploymentValidUntil, EXPIRY_FIELDS, listenerValidUntil } from '../../../domain/deployment-status/expiry.ts'
import { LISTENER_DERIVED } from '../../../domain/listeners/read.ts'
import type { Select } from '../../../domain/query-engine/rows.ts'
import { REVISION_DERIVED_FIELDS } from '../../../domain/revisions/derived-fields.ts'

/** Computed from the row and its relations in Prisma's shape. */
export interface Derived {
  select: Select
  derive(row: never, now: Date): unknown
  /** expiry of a time-dependent value (deployment-status/expiry.ts) */
  holds?: { select: Select; derive(row: never, now: Date): Date | null }
}

export type FieldSource =
  /** a column of the row. `isLastSeen`: it changes with each call of a listener (domain/cache-version/version.ts) */
  | { column: string; isLastSeen?: true }
  | { derived: Derived }
  /** the row of a relation, or null */
  | { one: string }
  /** an object made from columns of this row, or of the relation `of`. Null if the column `unless` is null */
  | { members: { of?: string; unless?: string } }
  /** a list or page of related rows */
  | { list: 'revisions' | 'tags' | 'deployments' }

interface CompiledType {
  fields: Readonly<Record<string, FieldSource>>
  /** every other field is the column of the same name */
  columns?: true
}

const columnField = (name: string): FieldSource => ({ column: name })
const relationField = (relation: string): FieldSource => ({ one: relation })

/** Fields that have the name of their column. */
const columnFields = (...names: string[]) => Object.fromEntries(names.map((name) => [name, columnField(name)]))
const derivedFields = (all: Record<string, Derived>, holds?: Derived['holds']) =>
  Object.fromEntries(Object.entries(all).map(([name, field]) => [name, { derived: { holds, ...field } }]))

const DEPLOYMENT_HOLDS = { select: EXPIRY_FIELDS, derive: deploymentValidUntil }
const LISTENER_HOLDS = { select: LISTENER_DERIVED.status.select, derive: listenerValidUntil }

export const COMPILED_TYPES: Readonly<Record<string, CompiledType>> = {
  Deployment: {
    fields: {
      ...columnFields(
        'id',
        'name',
        'source',
        'secretReferences',
        'imageVersion',
        'createdBy',
        'createdAt',
        'updatedAt',
      ),
      tenantId: columnField('workspaceId'),
      version: columnField('editVersion'),
      ...derivedFields(DERIVED_FIELDS),
      ...derivedFields(CLOCK_DERIVED_FIELDS, DEPLOYMENT_HOLDS),
      sourceConfig: { members: {} },
      sourceRevisionConfig: { members: { of: 'latestRevision' } },
      latestRevision: relationField('latestRevision'),
      activeRevision: relationField('activeRevision'),
      listener: relationField('listener'),
      tracingProject: relationField('tracingProject'),
      revisions: { list: 'revisions' },
      tags: { list: 'tags' },
    },
  },
  SourceConfig: { columns: true, fields: { listenerConfig: { members: { unless: 'k8sNamespace' } } } },
  ListenerConfig: { columns: true, fields: {} },
  Revision: {
    fields: {
      ...columnFields('id', 'number', 'status', 'statusSince', 'source', 'attempt'),
      ...columnFields('createdBy', 'createdAt', 'updatedAt', 'deployedAt'),
      ...columnFields('commitMessage', 'commitAuthor', 'installCommand', 'buildCommand'),
      ...derivedFields(REVISION_DERIVED_FIELDS),
      sourceRevisionConfig: { members: {} },
      deployment: relationField('deployment'),
    },
  },
  SourceRevisionConfig: { columns: true, fields: {} },
  Listener: {
    fields: {
      ...columnFields('id', 'computeType', 'computeId', 'version', 'podClasses', 'createdBy', 'createdAt', 'updatedAt'),
      lastSeenAt: { column: 'lastSeenAt', isLastSeen: true },
      editVersion: columnField('editVersion'),
      ...derivedFields(LISTENER_DERIVED, LISTENER_HOLDS),
      computeConfig: { members: {} },
      deployments: { list: 'deployments' },
    },
  },
  ListenerComputeConfig: { columns: true, fields: {} },
  TracingProject: { fields: columnFields('id', 'name', 'createdAt') },
  Tag: { fields: columnFields('id', 'key', 'value', 'createdAt') },
}
