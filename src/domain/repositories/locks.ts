/** Every row lock of the domain. Transactions take locks in the order of README.md, so they never deadlock. */
import { type Deployment, type Listener, Prisma } from '../../generated/prisma/client.ts'
import { ClaimLostError, ConflictError, NotFoundError } from '../errors/errors.ts'
import { tenant } from '../transaction/access.ts'
import { type ReadContext, type Tx, transaction, type WriteContext } from '../transaction/context.ts'
import { DEPLOYMENT_COLUMNS, deploymentFrom } from '../transaction/tables.ts'
import type { LockedListener } from '../transaction/unit-of-work.ts'
import { type HeldClaim, isHeldText, type Scope } from './lease.ts'
import { type AggregateParts, readLockedAggregate } from './locked-aggregate.ts'

declare const locked: unique symbol

/** A row that this transaction has locked. Writers (repositories/deployment.ts) take it and return the next one. */
export type LockedDeployment = Readonly<Deployment> & { readonly [locked]: true }

/** The row of a statement that locks deployments `d` and selects DEPLOYMENT_COLUMNS. */
export const lockedFrom = (row: Deployment) => deploymentFrom(row) as LockedDeployment

/** A lock clause at the end of a SELECT. `alias`: the table or its alias. */
export type LockClause = (alias: string) => Prisma.Sql

const clause =
  (strength: string, otherwise = ''): LockClause =>
  (alias) =>
    Prisma.raw(`FOR ${strength} OF ${alias}${otherwise}`)

/** The row will be changed. Inserts that refer to it do not wait. */
export const toChange = clause('NO KEY UPDATE')
export const toChangeOrSkip = clause('NO KEY UPDATE', ' SKIP LOCKED')
/** The row may be deleted or replaced. Inserts that refer to it wait. */
export const toDelete = clause('UPDATE')
export const toDeleteOrSkip = clause('UPDATE', ' SKIP LOCKED')
/** The row must not be deleted before the commit; it may be changed. */
export const toKeep = clause('KEY SHARE')

/**
 * Locks the deployment's row (`where`: of deployments `d`) and returns it as it is under the lock, because Postgres reads a row
 * again after it waited. Null: there is none. Read other data after the lock, since it may have changed before.
 */
async function lock(tx: Tx, { name, where }: LockBy, values: readonly unknown[]): Promise<LockedDeployment | null> {
  const text = `SELECT ${DEPLOYMENT_COLUMNS} FROM deployments d WHERE ${where} ${toChange('d').sql}`
  const [row] = await tx.query<Deployment>({ name, text }, values)
  return row ? lockedFrom(row) : null
}

interface LockBy {
  name: string
  where: string
}

/** `IS TRUE`: Postgres finds the row by its id, also without statistics (paging/statements.ts). */
const OWN: LockBy = { name: 'lock own deployment', where: 'd.id = $1::uuid AND (d.workspace_id = $2::uuid) IS TRUE' }
const BY_ID: LockBy = { name: 'lock deployment', where: 'd.id = $1::uuid' }

type LockedWork<T> = (tx: Tx, deployment: LockedDeployment) => Promise<T>

/**
 * Runs `work` in a transaction that begins with the lock of a deployment of the caller's workspace. Its writers queue before they
 * take a connection. `parts`: the parts of the aggregate to read with the lock (locked-aggregate.ts). Throws NotFoundError, also if it is torn down.
 */
export function lockDeployment<T>(
  ctx: WriteContext,
  id: string,
  work: LockedWork<T>,
  parts?: AggregateParts,
): Promise<T> {
  const living: LockedWork<T> = async (tx, deployment) => {
    if (deployment.tornDownAt) throw new NotFoundError('Deployment', id)
    return work(tx, deployment)
  }
  return lockEvenTornDown(ctx, id, living, parts)
}

export function lockEvenTornDown<T>(
  ctx: WriteContext,
  id: string,
  work: LockedWork<T>,
  parts?: AggregateParts,
): Promise<T> {
  const lockThenWork = async (tx: Tx) => {
    const locking = lock(tx, OWN, [id, ctx.workspace.id])
    // sent with the lock, and executed after it is held
    const [deployment] = await Promise.all([locking, parts && readLockedAggregate(tx, id, parts)])
    if (!deployment) throw new NotFoundError('Deployment', id)
    return work(tx, deployment)
  }
  return transaction(ctx, lockThenWork, { deployment: id })
}

/** For background work in any workspace. Null: there is none, or it is torn down. */
export async function lockById(tx: Tx, id: string): Promise<LockedDeployment | null> {
  const deployment = await lock(tx, BY_ID, [id])
  return deployment?.tornDownAt === null ? deployment : null
}

/** The same, but returns the row and relations of `read`; null also if `read` finds nothing. */
export async function lockThenRead<T extends Deployment>(
  tx: Tx,
  id: string,
  read: (id: string) => Promise<T | null>,
): Promise<(Omit<T, keyof Deployment> & LockedDeployment) | null> {
  if (!(await lock(tx, BY_ID, [id]))) return null
  return (await read(id)) as (Omit<T, keyof Deployment> & LockedDeployment) | null
}

const CLAIMED: LockBy = {
  name: 'lock claimed deployment',
  where: isHeldText('$1::uuid', '$2::numeric', '$3::uuid'),
}

/** Locks the claim's deployment. Throws ClaimLostError if the lease has ended, the token is old or the scope is another one. */
export async function lockClaimed(
  tx: Tx,
  { listenerId }: Scope,
  { claimId, token }: HeldClaim,
): Promise<LockedDeployment> {
  const deployment = await lock(tx, CLAIMED, [claimId, token, listenerId])
  if (!deployment) throw new ClaimLostError()
  return deployment
}

/** Lock timeout of a transaction about many deployments, so one locked deployment does not delay the others. */
export const BATCH_LOCK_TIMEOUT_MS = 500

/** $1: claims · $2: tokens · $3: listener or null · $4: ms. The planner does not see the number of claims. */
const LOCK_CLAIMED = {
  name: 'lock claimed deployments',
  text: `
    SELECT ${DEPLOYMENT_COLUMNS} FROM set_config('lock_timeout', $4, true) AS limited,
      unnest((SELECT $1::uuid[]), (SELECT $2::numeric[])) AS a (claim_id, token)
      JOIN deployments d ON ${isHeldText('a.claim_id', 'a.token', '(SELECT $3::uuid)')}
    ORDER BY d.id ${toChangeOrSkip('d').sql}`,
}

/**
 * Locks the deployments of these claims in order of their ids, skips locked ones, and returns them by claim. A missing claim is
 * locked or lost. Afterwards the transaction waits at most BATCH_LOCK_TIMEOUT_MS for a lock.
 */
export async function lockFreeOfClaims(
  tx: Tx,
  { listenerId }: Scope,
  claims: readonly HeldClaim[],
): Promise<Map<string, LockedDeployment>> {
  const values = [
    claims.map(({ claimId }) => claimId),
    claims.map(({ token }) => token),
    listenerId,
    String(BATCH_LOCK_TIMEOUT_MS),
  ]
  const rows = await tx.query<Deployment>(LOCK_CLAIMED, values)
  return new Map(rows.map((row) => [row.claimId!, lockedFrom(row)]))
}

/** Throws ConflictError for a deployment that is being deleted: nothing may be written to it any more. */
export function refuseDeleted({ id, deletedAt }: Pick<Deployment, 'id' | 'deletedAt'>): void {
  if (deletedAt) throw new ConflictError(`Deployment ID ${id} is being deleted.`)
}

export type SharedListener = LockedListener & Pick<Listener, 'k8sNamespaces' | 'podClasses'>

const SHARE_LISTENER = {
  name: 'share listener',
  text: `
    SELECT l.id, l.k8s_namespaces AS "k8sNamespaces", l.pod_classes AS "podClasses", l.compute_id AS "computeId", l.last_seen_at AS "lastSeenAt", l.created_at AS "createdAt"
    FROM listeners l WHERE l.id = $1::uuid AND l.workspace_id = $2::uuid ${toKeep('l').sql}`,
}

/**
 * Takes a shared lock on a listener of the workspace: it is not deleted and loses no namespace before the commit. Calls of the
 * data plane, which record the last call, do not wait. Throws NotFoundError.
 */
export async function shareListener(tx: Tx, workspaceId: string, id: string): Promise<SharedListener> {
  const [listener] = await tx.query<SharedListener>(SHARE_LISTENER, [id, workspaceId])
  if (!listener) throw new NotFoundError('Listener', id)
  return listener
}

/** Locks a listener of the caller's workspace exclusively and reads it. It excludes shareListener(). Throws NotFoundError. */
export async function lockListener(tx: Tx, ctx: ReadContext, id: string): Promise<Listener> {
  const found = await tx.sql.$queryRaw<unknown[]>`
    SELECT 1 FROM listeners WHERE id = ${id}::uuid AND workspace_id = ${ctx.workspace.id}::uuid ${toDelete('listeners')}`
  if (found.length === 0) throw new NotFoundError('Listener', id)
  return tx.sql.listener.findUniqueOrThrow({ where: { id, ...tenant(ctx) } })
}
