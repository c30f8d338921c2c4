/** Workspaces: reads, creation, and the first organization of an empty database. */
import { z } from 'zod'
import type { Prisma, Workspace } from '../generated/prisma/client.ts'
import { ConflictError, ForbiddenError } from './errors/errors.ts'
import { hashKey, issueKey } from './keys/key.ts'
import type { OffsetPage } from './paging/paging.ts'
import { escapeLike } from './paging/statements.ts'
import { printableName, queryText, uuid } from './parsing/fields.ts'
import { parse, type RawInput } from './parsing/parse.ts'
import { toChange } from './repositories/locks.ts'
import { actorOf, requireRole } from './transaction/access.ts'
import {
  type Db,
  type ReadCore,
  type RequestContext,
  type Sql,
  type Tx,
  transaction,
  type WriteCore,
} from './transaction/context.ts'
import { type Selection, writeVerb } from './transaction/once.ts'
import { resource } from './transaction/resource.ts'
import type { ActorRef } from './values/event-types.ts'
import { offsetQuery } from './values/shapes.ts'

/** The credential's workspace, or all of its organization. */
function ownWorkspaces({ actor }: Pick<RequestContext, 'actor'>): Prisma.WorkspaceWhereInput {
  const { organizationId, workspaceId } = actor
  return workspaceId === null ? { organizationId } : { organizationId, id: workspaceId }
}

export const workspaces = resource<Workspace>({
  name: 'Workspace',
  table: (sql) => sql.workspace,
  visible: ownWorkspaces,
})

const getInput = z.object({ path: z.object({ workspace_id: uuid }) })

/** Role: viewer. Throws NotFoundError, also for a workspace outside of the credential. */
export const getWorkspace = (ctx: RequestContext, id: string, query: Selection = {}): Promise<Workspace> =>
  workspaces.get(ctx, () => parse(getInput, { path: { workspace_id: id } }).path.workspace_id, query)

const filter = { name_contains: queryText.describe('A part of the name. Case is ignored.') }
const filterInput = z.object({ query: z.object(filter) })

const nameContains = (part: string | undefined): Prisma.WorkspaceWhereInput =>
  part === undefined ? {} : { name: { contains: escapeLike(part), mode: 'insensitive' } }

/** Absent, null or empty: no filter. */
export const workspacesNamed = (part: string | null | undefined) => () =>
  nameContains(parse(filterInput, { query: { name_contains: part } }).query.name_contains)

export const listInput = z.object({ query: z.object({ ...offsetQuery, ...filter }) })

/** Role: viewer. */
export const listWorkspaces = (ctx: RequestContext, raw: RawInput): Promise<OffsetPage<Workspace>> =>
  workspaces.page(ctx, () => {
    const { name_contains, ...bounds } = parse(listInput, raw).query
    return { ...bounds, filter: nameContains(name_contains) }
  })

export const createInput = z.object({
  body: z
    .object({ name: printableName.describe('The name is unique in the organization.') })
    .meta({ id: 'WorkspaceCreate' }),
})

/**
 * The operator grants the repositories below GIT_DIRECTORY (`pilothouse server workspaces create --git-directory`). A workspace
 * credential could not act in the new workspace. Throws ConflictError (ALREADY_EXISTS).
 */
export const createWorkspace = writeVerb<Workspace>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  if (ctx.actor.workspaceId !== null)
    throw new ForbiddenError('Only an organization-wide credential can create a workspace.')
  const { body } = parse(createInput, raw)
  const { organizationId } = ctx.actor
  return transaction(ctx, async (tx) => {
    const made = { organizationId, name: body.name, directoryIntegration: false, actor: actorOf(ctx.actor) }
    return read(tx, await insertWorkspace(tx, made))
  })
})

interface NewWorkspace {
  organizationId: string
  name: string
  /** grants the repositories below the server's GIT_DIRECTORY */
  directoryIntegration: boolean
  /** author of the events; absent: the system */
  actor?: ActorRef
}

/** Throws ConflictError for an existing name. There is no unique index, because older installations have duplicates. */
export async function insertWorkspace(
  tx: Tx,
  { organizationId, name, directoryIntegration, actor }: NewWorkspace,
): Promise<Workspace> {
  await tx.sql.$queryRaw`SELECT 1 FROM organizations WHERE id = ${organizationId}::uuid ${toChange('organizations')}`
  if ((await tx.sql.workspace.count({ where: { organizationId, name } })) > 0)
    throw new ConflictError(`A workspace named '${name}' already exists in this organization.`, 'ALREADY_EXISTS')
  const workspace = await tx.sql.workspace.create({ data: { organizationId, name, eventCounter: { create: {} } } })
  tx.emit({ workspaceId: workspace.id, type: 'workspace.created', actor })
  if (directoryIntegration) {
    const data = { workspaceId: workspace.id, kind: 'directory', name: 'directory' } as const
    const { id: subjectId } = await tx.sql.integration.create({ data })
    tx.emit({ workspaceId: workspace.id, type: 'integration.created', subjectId, actor })
  }
  return workspace
}

/** an arbitrary number */
const BOOTSTRAP_LOCK_ID = 4_172_036_158

export interface Bootstrapped {
  /** the generated key, to show once; null: none was generated */
  generatedKey: string | null
}

export interface FirstKey {
  /** the operator's choice (CONTROL_PLANE_API_KEY); undefined: generate one */
  text: string | undefined
  name: string
}

/** `key`: the first admin key, used only for an empty database. */
export async function bootstrap(core: WriteCore, key: FirstKey): Promise<Bootstrapped> {
  if (await isEmpty(core.db)) {
    const made = await transaction(core, async (tx) => {
      await tx.sql.$executeRaw`SELECT pg_advisory_xact_lock(${BOOTSTRAP_LOCK_ID})`
      return (await isEmpty(tx.sql)) ? createFirstOrganization(core, tx, key) : null
    })
    if (made) return made
  }
  if (key.text !== undefined && !(await isStoredKey(core.db, key.text)))
    core.log.warn({}, 'CONTROL_PLANE_API_KEY is ignored: this database already has other keys')
  return { generatedKey: null }
}

async function isEmpty(sql: Sql): Promise<boolean> {
  const [{ empty }] = await sql.$queryRaw<[{ empty: boolean }]>`SELECT NOT EXISTS (SELECT FROM organizations) AS empty`
  return empty
}

/** SQL, because a call of a Prisma model loads the query compiler: 70 ms and 20 MB at each start. */
async function isStoredKey(db: Db, text: string): Promise<boolean> {
  const [{ stored }] = await db.$queryRaw<[{ stored: boolean }]>`
    SELECT EXISTS (SELECT FROM api_keys WHERE hash = ${hashKey(text)}) AS stored`
  return stored
}

async function createFirstOrganization(core: ReadCore, tx: Tx, key: FirstKey): Promise<Bootstrapped> {
  const organization = await tx.sql.organization.create({ data: { name: 'Default', plan: 'self_hosted_enterprise' } })
  const workspace = await insertWorkspace(tx, {
    organizationId: organization.id,
    name: 'Default',
    directoryIntegration: true,
  })
  await tx.sql.installation.create({ data: { keyId: core.keyring.currentId } })
  // a workspace key, so it works without X-Tenant-Id
  const { text } = await issueKey(tx, {
    organizationId: organization.id,
    workspaceId: workspace.id,
    name: key.name,
    role: 'admin',
    createdBy: null,
    text: key.text,
  })
  return { generatedKey: key.text === undefined ? text : null }
}

/** A UUID that stays the same for the lifetime of the database, also after a restore from a backup. */
export async function installationId({ db }: ReadCore): Promise<string> {
  const [{ uuid }] = await db.$queryRaw<[{ uuid: string }]>`SELECT uuid FROM installation`
  return uuid
}

/** Id of the key that encrypted its secrets last. Null: the database is empty. */
export async function installationKeyId(db: Db): Promise<string | null> {
  const [row] = await db.$queryRaw<{ keyId: string }[]>`SELECT key_id AS "keyId" FROM installation`
  return row?.keyId ?? null
}
