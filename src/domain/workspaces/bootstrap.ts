/** Initialises an empty database: organization, workspace, integration, admin key. Safe for servers that start concurrently. */

import { issueKey } from '../keys/issue.ts'
import { hashKey } from '../keys/key.ts'
import { type Core, type Db, type Sql, type Tx, transaction } from '../transaction/context.ts'
import { insertWorkspace } from './create.ts'

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
export async function bootstrap(core: Core, key: FirstKey): Promise<Bootstrapped> {
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

async function isStoredKey(sql: Sql, apiKey: string): Promise<boolean> {
  const [{ known }] = await sql.$queryRaw<[{ known: boolean }]>`
    SELECT EXISTS (SELECT FROM api_keys WHERE hash = ${hashKey(apiKey)}) AS known`
  return known
}

async function createFirstOrganization(core: Core, tx: Tx, key: FirstKey): Promise<Bootstrapped> {
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
export async function installationId({ db }: Core): Promise<string> {
  const [{ uuid }] = await db.$queryRaw<[{ uuid: string }]>`SELECT uuid FROM installation`
  return uuid
}

/** Id of the key that encrypted its secrets last. Null: the database is empty. */
export async function installationKeyId(db: Db): Promise<string | null> {
  const [row] = await db.$queryRaw<{ keyId: string }[]>`SELECT key_id AS "keyId" FROM installation`
  return row?.keyId ?? null
}
