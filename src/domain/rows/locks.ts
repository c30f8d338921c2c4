/**
 * Every row lock of the domain. A transaction takes them in one order, so that no two wait for each other:
 *
 * 1. what others name: an organization, an OAuth provider, a listener;
 * 2. the deployment (one; who works on many skips those that somebody else has locked);
 * 3. what belongs to it or hangs on it: uploads, revisions, steps, OAuth tokens, webhook deliveries; of one kind, by id;
 * (A slot of the workspace's version of what is shown, taken by triggers at any time: nobody ever waits for one.)
 * 4. the workspace's event counter, last of all, as the transaction's last statement before the commit (context.ts).
 */
import { type Deployment, type Listener, Prisma } from '../../generated/prisma/client.ts'
import { tenant } from '../context/access.ts'
import { type RequestContext, type Tx, transaction } from '../context/context.ts'
import { ClaimLostError, ConflictError, NotFoundError } from '../core/errors.ts'
import { type HeldClaim, isHeldUnder, type Scope } from './lease.ts'

declare const locked: unique symbol

/**
 * A deployment's row that this transaction has locked, as it is now. Never changed in place: whoever writes it
 * (rows/deployment.ts) takes it and answers with the next one.
 */
export type LockedDeployment = Readonly<Deployment> & { readonly [locked]: true }

/** A lock as the last words of a SELECT, or of a part of a bigger statement. `of`: the table, or what it is called there. */
export type LockClause = (of: string) => Prisma.Sql

const clause =
  (strength: string, otherwise = ''): LockClause =>
  (of) =>
    Prisma.raw(`FOR ${strength} OF ${of}${otherwise}`)

/** The row will be changed. Who only makes something that refers to it does not wait. */
export const toChange = clause('NO KEY UPDATE')
/** The same; rows that somebody else has locked are left out, nobody waits. */
export const toChangeOrSkip = clause('NO KEY UPDATE', ' SKIP LOCKED')
/** The row may be deleted, or replaced: who wants to refer to it waits. */
export const toDelete = clause('UPDATE')
/** The same; rows that somebody else has locked are left out, nobody waits. */
export const toDeleteOrSkip = clause('UPDATE', ' SKIP LOCKED')
/** The row must not go away before the commit; it may be changed. */
export const toKeep = clause('KEY SHARE')

/**
 * Locks the deployment's row (`where`: of deployments `d`), then reads it, with whatever else `read` includes. Null:
 * there is none. What was true before the lock may not be so any more: `read` looks after it.
 */
async function lockAnd<T extends Deployment>(
  tx: Tx,
  where: Prisma.Sql,
  read: (id: string) => Promise<T | null>,
): Promise<(Omit<T, keyof Deployment> & LockedDeployment) | null> {
  const [row] = await tx.sql.$queryRaw<{ id: string }[]>`SELECT d.id FROM deployments d WHERE ${where} ${toChange('d')}`
  return row ? ((await read(row.id)) as (Omit<T, keyof Deployment> & LockedDeployment) | null) : null
}

const rowOf = (tx: Tx) => (id: string) => tx.sql.deployment.findUniqueOrThrow({ where: { id } })

type LockedWork<T> = (tx: Tx, deployment: LockedDeployment) => Promise<T>

/**
 * Runs `work` in a transaction that begins with the lock of a deployment of the caller's workspace; its writers queue
 * before they take a connection. Throws NotFoundError; torn-down ones are gone.
 */
export function lockDeployment<T>(ctx: RequestContext, id: string, work: LockedWork<T>): Promise<T> {
  return lockEvenTornDown(ctx, id, async (tx, deployment) => {
    if (deployment.tornDownAt) throw new NotFoundError('Deployment', id)
    return work(tx, deployment)
  })
}

/** The same, also when it is torn down. */
export function lockEvenTornDown<T>(ctx: RequestContext, id: string, work: LockedWork<T>): Promise<T> {
  const lockThenWork = async (tx: Tx) => {
    const own = Prisma.sql`d.id = ${id}::uuid AND d.workspace_id = ${ctx.workspace.id}::uuid`
    const deployment = await lockAnd(tx, own, rowOf(tx))
    if (!deployment) throw new NotFoundError('Deployment', id)
    return work(tx, deployment)
  }
  return transaction(ctx, lockThenWork, { deployment: id })
}

/** For the system itself, whosever it is. Null: there is none, or it is torn down. */
export function lockById(tx: Tx, id: string): Promise<LockedDeployment | null> {
  return lockAnd(tx, Prisma.sql`d.id = ${id}::uuid AND d.torn_down_at IS NULL`, rowOf(tx))
}

/** The same, with what `read` includes; null also where `read` finds nothing. */
export function lockThenRead<T extends Deployment>(tx: Tx, id: string, read: (id: string) => Promise<T | null>) {
  return lockAnd(tx, Prisma.sql`d.id = ${id}::uuid`, read)
}

/** Locks the claim's deployment. Throws ClaimLostError when the lease is over, the token is old or it is not of this scope. */
export async function lockClaimed(tx: Tx, scope: Scope, claim: HeldClaim): Promise<LockedDeployment> {
  const deployment = await lockAnd(tx, isHeldUnder(scope, claim), rowOf(tx))
  if (!deployment) throw new ClaimLostError()
  return deployment
}

/** Throws ConflictError for a deployment that is being deleted: nothing may be written to it any more. */
export function refuseDeleted({ id, deletedAt }: Pick<Deployment, 'id' | 'deletedAt'>): void {
  if (deletedAt) throw new ConflictError(`Deployment ID ${id} is being deleted.`)
}

/** What is known of a listener whose row is shared. */
export type SharedListener = Pick<Listener, 'id' | 'k8sNamespaces'>

/**
 * Keeps a listener of the workspace as it is until the commit: it neither goes away nor loses a namespace. The data
 * plane, which notes when it last called, does not wait. Throws NotFoundError.
 */
export async function shareListener(tx: Tx, workspaceId: string, id: string): Promise<SharedListener> {
  const [listener] = await tx.sql.$queryRaw<SharedListener[]>`
    SELECT id, k8s_namespaces AS "k8sNamespaces" FROM listeners
    WHERE id = ${id}::uuid AND workspace_id = ${workspaceId}::uuid ${toKeep('listeners')}`
  if (!listener) throw new NotFoundError('Listener', id)
  return listener
}

/** Locks a listener of the caller's workspace and reads it: whoever shares it waits, and is waited for. Throws NotFoundError. */
export async function lockListener(tx: Tx, ctx: RequestContext, id: string): Promise<Listener> {
  const found = await tx.sql.$queryRaw<unknown[]>`
    SELECT 1 FROM listeners WHERE id = ${id}::uuid AND workspace_id = ${ctx.workspace.id}::uuid ${toDelete('listeners')}`
  if (found.length === 0) throw new NotFoundError('Listener', id)
  return tx.sql.listener.findUniqueOrThrow({ where: { id, ...tenant(ctx) } })
}
