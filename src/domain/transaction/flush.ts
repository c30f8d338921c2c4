/** Builds the statement of a unit of work. Its text depends only on the kinds of changes (README.md). */

import type { Prisma } from '../../generated/prisma/client.ts'
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import type { Statement } from '../paging/statements.ts'
import { TABLES, type Table, toJson } from './tables.ts'

/** A recorded row: all columns of a new one, or the changed columns of a stored one. */
export interface Recorded {
  readonly id: string
  readonly columns: Record<string, unknown>
  readonly isNew: boolean
  /** the status that a revision must still have */
  seen?: RevisionStatus
}

/** A tracing project to create, or to find by name. A found one keeps its own id. */
export interface Project {
  readonly id: string
  readonly workspaceId: string
  readonly name: string
  /** called if the project is created */
  made(): void
}

export interface Pending {
  readonly rows: Readonly<Record<Table, readonly Recorded[]>>
  readonly project: Project | null
}

export interface WrittenRow {
  id: string
  of: Table | null
  /** the stored row of a deployment or revision, if requested */
  row: Record<string, unknown> | null
}

/** Null: there is nothing to write. `answers`: return rows as they are stored. */
export function flushStatement(
  { rows, project }: Pending,
  answers: boolean,
): { statement: Statement; values: unknown[] } | null {
  const name: string[] = []
  const values: unknown[] = []
  const parts: Part[] = []
  if (project) {
    name.push('p')
    parts.push({ kind: 'project', first: values.length + 1, one: true })
    values.push(project.id, project.workspaceId, project.name)
  }
  for (const table of ORDER) {
    const made = rows[table].filter(({ isNew }) => isNew)
    const changed = rows[table].filter(({ isNew }) => !isNew)
    // changes come first, because a closed step makes room for a new one
    if (changed.length > 0) {
      const one = changed.length === 1
      name.push(`${SHORT[table]}~${one ? '' : '*'}`)
      parts.push({ kind: 'changed', table, first: values.length + 1, one })
      const documents = changed.map(documentOf)
      const ids = changed.map(({ id }) => id)
      values.push(JSON.stringify(one ? documents[0] : documents), one ? ids[0] : ids)
    }
    if (made.length > 0) {
      const one = made.length === 1
      name.push(`${SHORT[table]}+${one ? '' : '*'}`)
      parts.push({ kind: 'made', table, first: values.length + 1, one })
      const documents = made.map(({ columns }) => toJson(columns))
      values.push(JSON.stringify(one ? documents[0] : documents))
    }
  }
  if (parts.length === 0) return null
  return { statement: textOf(`unit ${name.join(' ')}${answers ? ' =' : ''}`, parts, answers), values }
}

const ORDER = ['deployment', 'revision', 'step', 'secretSet'] as const satisfies Table[]
const SHORT: Record<Table, string> = { deployment: 'd', revision: 'r', step: 's', secretSet: 'x' }

interface Part {
  kind: 'project' | 'made' | 'changed'
  table?: Table
  first: number
  /** for one row, the usual case: the plan does not depend on the values and is made once */
  one: boolean
}

const documentOf = ({ id, columns, seen }: Recorded) => ({ ...toJson(columns), id, ...(seen ? { seen } : {}) })

const statements = new Map<string, Statement>()

function textOf(name: string, parts: readonly Part[], answers: boolean): Statement {
  const known = statements.get(name)
  if (known) return known
  const hasProject = parts.some(({ kind }) => kind === 'project')
  const clauses = parts.map((part) => `${nameOf(part)} AS (${clauseOf(part, hasProject, parts, answers)})`)
  const ids = parts.map(
    (part) => `SELECT id, ${part.table ? `'${part.table}'` : 'NULL'} AS of, row FROM ${nameOf(part)}`,
  )
  const statement = { name, text: `WITH ${clauses.join(',\n')}\n${ids.join(' UNION ALL ')}` }
  statements.set(name, statement)
  return statement
}

const nameOf = ({ kind, table }: Part) => (table ? `${SHORT[table]}_${kind}` : 'project')

function clauseOf(part: Part, hasProject: boolean, parts: readonly Part[], answers: boolean): string {
  const { kind, table, first, one } = part
  if (!table)
    return `
      INSERT INTO tracing_projects (id, workspace_id, name) VALUES ($${first}::uuid, $${first + 1}::uuid, $${first + 2})
      ON CONFLICT (workspace_id, name) DO UPDATE SET name = excluded.name RETURNING id, NULL::json AS row`
  const { name, columns, changing } = TABLES[table]
  const isAnswered = answers && (table === 'deployment' || table === 'revision')
  const returning = (alias: string) =>
    `RETURNING ${alias}.id, ${isAnswered ? `row_to_json(${alias})` : 'NULL::json'} AS row`
  if (kind === 'made') {
    const from = columns.map((column) =>
      hasProject && column === 'tracing_project_id' ? '(SELECT id FROM project)' : `n.${column}`,
    )
    const before = parts.find((other) => other.kind === 'changed' && other.table === table)
    // insert a new open step after the previous one was closed, because only one may be open
    const after = before ? ` WHERE (SELECT count(*) FROM ${nameOf(before)}) >= 0` : ''
    return `
      INSERT INTO ${name} (${columns.join(', ')})
      SELECT ${from.join(', ')} FROM ${one ? 'jsonb_populate_record' : 'jsonb_populate_recordset'}(NULL::${name}, $${first}::jsonb) AS n${after} ${returning(name)}`
  }
  const document = one ? `$${first}::jsonb` : 'c.doc'
  // hide the number of rows from the planner (paging/statements.ts), which would otherwise plan each call
  const rows = one
    ? `WHERE t.id = $${first + 1}::uuid`
    : `FROM jsonb_array_elements($${first}::jsonb) AS c (doc)
    WHERE t.id = (c.doc ->> 'id')::uuid AND t.id = ANY ((SELECT $${first + 1}::uuid[])::uuid[])`
  const guard =
    table === 'revision' ? ` AND (${document} ->> 'seen' IS NULL OR t.status::text = ${document} ->> 'seen')` : ''
  // columns that a document does not name keep their stored values
  return `
    UPDATE ${name} t SET (${changing.join(', ')}) =
      (SELECT ${changing.map((column) => `n.${column}`).join(', ')} FROM jsonb_populate_record(t, ${document}) AS n)
    ${rows}${guard} ${returning('t')}`
}

type Sql = Prisma.TransactionClient

type Call = (...args: unknown[]) => unknown

/** Calls `ready` before each query. Queries are sent immediately, even if their result is not awaited. */
export function prismaOf(ready: () => Promise<Sql>): Sql {
  const call =
    (select: (sql: Sql) => unknown, name: string) =>
    async (...args: unknown[]) => {
      const owner = select(await ready()) as Record<string, Call>
      return owner[name]!(...args)
    }
  const methods = (select: (sql: Sql) => unknown) => (_: object, name: string | symbol) =>
    // `await` looks for a `then` method on the object
    typeof name === 'symbol' || name === 'then' ? undefined : call(select, name)
  const get = (_: object, name: string | symbol) => {
    if (typeof name === 'symbol' || name === 'then') return undefined
    if (name.startsWith('$')) return call((sql) => sql, name)
    return new Proxy({}, { get: methods((sql) => sql[name as keyof Sql]) })
  }
  return new Proxy({}, { get }) as Sql
}
