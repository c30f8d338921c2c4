/** The unit of work of a transaction: merges its writes per row and sends them as one statement (README.md). */
import type { Integration, Listener } from '../../generated/prisma/client.ts'
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import { ConflictError } from '../errors/errors.ts'
import type { Query } from '../paging/statements.ts'
import { customHostTaken } from '../values/custom-host.ts'
import { flushStatement, type Project, type Recorded, type WrittenRow } from './flush.ts'
import { fromJson, type Table, type TableRows } from './tables.ts'

/** A locked deployment and its parts, with the recorded changes applied. */
export interface LockedAggregate {
  /** open revisions, and the latest, active and requested one */
  revisions: TableRows['revision'][]
  requestedRevisionId: string | null
  /** the open step; with `hasEndedSteps` also all ended steps that were taken */
  steps: TableRows['step'][]
  hasEndedSteps: boolean
  /** whether the secret set and the integration were read, which only answers show */
  hasSecretsAndIntegration: boolean
  secretSet: TableRows['secretSet'] | null
  integration: LockedIntegration | null
  listener: LockedListener | null
}

export type LockedIntegration = Pick<Integration, 'name' | 'removedAt' | 'suspendedAt'>
export type LockedListener = Pick<Listener, 'id' | 'computeId' | 'lastSeenAt' | 'createdAt'>

export class UnitOfWork {
  readonly known = new Map<string, LockedAggregate>()
  readonly #query: Query
  readonly #recorded: Record<Table, Map<string, Recorded>> = {
    deployment: new Map(),
    revision: new Map(),
    step: new Map(),
    secretSet: new Map(),
  }
  #project: Project | null = null
  #onDuplicate: OnDuplicate = () => null
  #flushing: Promise<void> = Promise.resolve()

  constructor(query: Query) {
    this.#query = query
  }

  /** Records a new deployment. */
  make(
    row: TableRows['deployment'],
    { listener, onDuplicate }: { listener: LockedListener | null; onDuplicate: OnDuplicate },
  ): void {
    this.#record('deployment', row)
    this.#onDuplicate = onDuplicate
    const nothing = {
      requestedRevisionId: null,
      hasEndedSteps: true,
      secretSet: null,
      integration: null,
      hasSecretsAndIntegration: row.integrationId === null,
    }
    this.known.set(row.id, { ...nothing, revisions: [], steps: [], listener })
  }

  insert<T extends Exclude<Table, 'deployment'>>(table: T, row: TableRows[T]): void {
    this.#record(table, row)
    const aggregate = this.known.get(row.deploymentId)
    if (!aggregate) return
    if (table === 'revision') aggregate.revisions = [...aggregate.revisions, row as TableRows['revision']]
    if (table === 'step') aggregate.steps = [...aggregate.steps, row as TableRows['step']]
    if (table === 'secretSet') aggregate.secretSet = row as TableRows['secretSet']
  }

  /**
   * Records changed columns of a stored or recorded row. `seen`: the status that a revision must still have. Throws
   * ConflictError, here or at the flush, if the status differs.
   */
  update<T extends 'deployment' | 'revision' | 'step'>(
    table: T,
    id: string,
    changes: Partial<TableRows[T]>,
    seen?: RevisionStatus,
  ): void {
    const before = this.#recorded[table].get(id)
    const status = before?.columns.status
    if (seen && status !== undefined && status !== seen) throw noLonger(seen)
    const recorded: Recorded = before ?? { id, columns: {}, isNew: false }
    if (seen && !recorded.isNew) recorded.seen ??= seen
    Object.assign(recorded.columns, changes)
    this.#recorded[table].set(id, recorded)
    for (const facts of this.known.values()) {
      if (table === 'revision') facts.revisions = changed(facts.revisions, id, changes)
      if (table === 'step') facts.steps = changed(facts.steps, id, changes)
    }
  }

  /** Finds or creates the workspace's tracing project of this name for the new deployment. */
  project(project: Project): void {
    this.#project = project
  }

  /** Writes the recorded changes with at most one statement. Throws ConflictError, and ValidationError for a host of another deployment. */
  flush(): Promise<void> {
    // a failed flush fails all later ones, because the transaction is over
    this.#flushing = this.#flushing.then(async () => {
      await this.#write(false)
    })
    return this.#flushing
  }

  async stored(): Promise<Stored> {
    let stored = NOTHING_STORED
    this.#flushing = this.#flushing.then(async () => {
      stored = await this.#write(true)
    })
    await this.#flushing
    return stored
  }

  forget(): void {
    this.known.clear()
  }

  #record(table: Table, row: { id: string }): void {
    this.#recorded[table].set(row.id, { id: row.id, columns: { ...row }, isNew: true })
  }

  async #write(answers: boolean): Promise<Stored> {
    const take = (table: Table) => [...this.#recorded[table].values()]
    const rows = {
      deployment: take('deployment'),
      revision: take('revision'),
      step: take('step'),
      secretSet: take('secretSet'),
    }
    const project = this.#project
    const flush = flushStatement({ rows, project }, answers)
    if (!flush) return NOTHING_STORED
    for (const recorded of Object.values(this.#recorded)) recorded.clear()
    this.#project = null
    const written = await this.#query<WrittenRow>(flush.statement, flush.values).catch((error) => {
      if (constraintOf(error) === CUSTOM_HOSTS) throw customHostTaken()
      throw this.#onDuplicate(duplicateOf(error)) ?? error
    })
    const ids = new Set(written.map(({ id }) => id))
    for (const { id, seen } of rows.revision) if (seen && !ids.has(id)) throw noLonger(seen)
    if (project && ids.has(project.id)) project.made()
    return answers ? storedOf(written) : NOTHING_STORED
  }
}

export interface Stored {
  deployment: ReadonlyMap<string, TableRows['deployment']>
  revision: ReadonlyMap<string, TableRows['revision']>
}

const NOTHING_STORED: Stored = { deployment: new Map(), revision: new Map() }

function storedOf(written: readonly WrittenRow[]): Stored {
  const rowsOf = <T extends 'deployment' | 'revision'>(table: T) =>
    new Map(written.flatMap(({ id, of, row }) => (of === table && row ? [[id, fromJson(table, row)] as const] : [])))
  return { deployment: rowsOf('deployment'), revision: rowsOf('revision') }
}

/** Column of a deployment whose value another deployment has. */
type Duplicate = 'name' | 'addressName'
/** Makes the error for a value that another deployment has. Null: `duplicate` is null, or the original error. */
export type OnDuplicate = (duplicate: Duplicate | null) => Error | null

/** By unique index. That of names covers the live deployments of a workspace. */
const DUPLICATES: Record<string, Duplicate> = {
  deployments_live_name: 'name',
  deployments_address_name_key: 'addressName',
}

const CUSTOM_HOSTS = 'deployments_custom_host'

/** The unique index that has a value already; null: another error. */
const constraintOf = (error: { code?: unknown; constraint?: unknown }): string | null =>
  error.code === '23505' ? String(error.constraint) : null

const duplicateOf = (error: object): Duplicate | null => DUPLICATES[constraintOf(error) ?? ''] ?? null

const noLonger = (status: RevisionStatus) => new ConflictError(`The revision is no longer ${status}.`)

function changed<R extends { id: string }>(rows: R[], id: string, changes: object): R[] {
  return rows.map((row) => (row.id === id ? { ...row, ...changes } : row))
}
