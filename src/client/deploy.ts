/**
 * Creates or updates a deployment by name, or rolls it back: redeploys an earlier revision, without a build while its artifact
 * exists. A repeated call creates no second revision, because writes have an Idempotency-Key.
 */
import type { Connection } from './connection.ts'
import { PilothouseError } from './errors.ts'
import { findByName } from './find.ts'
import type { components, Deployment, DeploymentCreateInput, Revision } from './openapi.ts'

export type Secret = components['schemas']['Secret']

/** Changes single secrets. All others stay, including concurrent changes. A new deployment gets exactly the secrets in `set`. */
export interface SecretsChange {
  set?: Secret[]
  /** names */
  unset?: string[]
}

/** The body of a create. An update changes only the given members. `secrets` is the whole set, or a change of single secrets. */
export type DeployBody = Partial<Omit<DeploymentCreateInput, 'name' | 'secrets'>> & {
  secrets?: Secret[] | SecretsChange | undefined
}

/** Limits consecutive writes that fail because another caller changed the deployment first. */
const MAX_CONFLICTS = 20

export interface DeployOptions {
  name: string
  /** the body, or a function that returns it for the existing deployment (null: none) */
  body: DeployBody | ((existing: Deployment | null) => DeployBody | Promise<DeployBody>)
  /**
   * Identifies this call, e.g. the id of a CI job: 1 to 200 printable ASCII characters. The same call with the same key returns the
   * first result for 24 hours. By default each call has a new key, which makes its retries safe.
   */
  idempotencyKey?: string
  signal?: AbortSignal
}

export interface DeployResult {
  deployment: Deployment
  /** the revision that this call created; null: the change needs none */
  revisionId: string | null
  created: boolean
}

/** Throws PilothouseError, UnreachableError and the reason of `signal`. Of two concurrent calls, one creates and the other updates. */
export async function deploy(connection: Connection, options: DeployOptions): Promise<DeployResult> {
  const { name, body, signal } = options
  const bodyFor = async (existing: Deployment | null) => (typeof body === 'function' ? body(existing) : body)
  const key = options.idempotencyKey
  const existing = await findByName(connection, name, signal)
  // with the caller's key, an earlier try of this call may have created `existing`: a repeated create returns its result
  const created = !existing || key !== undefined ? await create(connection, name, await bodyFor(null)) : null
  if (created) return created
  const found = existing ?? (await findByName(connection, name, signal))
  if (!found) throw deletedError(name)
  return update(connection, found, await bodyFor(found))

  async function create({ api }: Connection, name: string, body: DeployBody): Promise<DeployResult | null> {
    try {
      const { data, response } = await api.POST('/v2/deployments', {
        body: { ...body, secrets: initialSecrets(body.secrets) ?? [], name } as DeploymentCreateInput,
        headers: idempotencyKey(key, 'create'),
        signal,
      })
      return { deployment: data!, revisionId: revisionIdOf(response), created: true }
    } catch (error) {
      if (isNameTaken(error) || (existing && isIncomplete(error))) return null
      throw error
    }
  }

  async function update(connection: Connection, { id }: Deployment, body: DeployBody): Promise<DeployResult> {
    const { secrets, ...rest } = body
    if (secrets === undefined || Array.isArray(secrets)) return patch(connection, id, { ...rest, secrets })
    if (!hasValue(rest)) return patchSecrets(connection, id, secrets)
    // one revision for all changes needs the whole set; If-Match protects concurrent changes of secrets
    for (let conflicts = 0; ; conflicts++) {
      const { data, response } = await connection.api.GET('/v2/deployments/{deployment_id}', {
        params: deploymentPath(id),
        signal,
      })
      try {
        return await patch(
          connection,
          id,
          { ...rest, secrets: applySecretsChange(data!, secrets) },
          response.headers.get('etag'),
        )
      } catch (error) {
        if (!isPreconditionFailed(error) || conflicts >= MAX_CONFLICTS) throw error
      }
    }
  }

  async function patch(
    { api }: Connection,
    id: string,
    body: DeployBody & { secrets: Secret[] | undefined },
    etag: string | null = null,
  ): Promise<DeployResult> {
    const { data, response } = await api.PATCH('/v2/deployments/{deployment_id}', {
      params: deploymentPath(id),
      body,
      headers: { ...idempotencyKey(key, 'update'), ...(etag !== null && { 'If-Match': etag }) },
      signal,
    })
    return { deployment: data!, revisionId: revisionIdOf(response), created: false }
  }

  async function patchSecrets({ api }: Connection, id: string, body: SecretsChange): Promise<DeployResult> {
    const { data, response } = await api.PATCH('/v2/deployments/{deployment_id}/secrets', {
      params: deploymentPath(id),
      body,
      headers: idempotencyKey(key, 'update'),
      signal,
    })
    return { deployment: data!, revisionId: revisionIdOf(response), created: false }
  }
}

const deploymentPath = (deployment_id: string) => ({ path: { deployment_id } })

const initialSecrets = (secrets: DeployBody['secrets']): Secret[] | undefined =>
  secrets === undefined || Array.isArray(secrets) ? secrets : secrets.set

const hasValue = (body: object): boolean =>
  Object.values(body).some((value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? hasValue(value) : value !== undefined,
  )

/** The revision that a write created or changed; null: none. */
const revisionIdOf = ({ headers }: Response): string | null => headers.get('x-revision-id')

const isPreconditionFailed = (error: unknown) =>
  error instanceof PilothouseError && error.code === 'PRECONDITION_FAILED'

const isNameTaken = (error: unknown) => error instanceof PilothouseError && error.code === 'ALREADY_EXISTS'

/** The body of an update may lack fields that a create requires. */
const isIncomplete = (error: unknown) =>
  error instanceof PilothouseError &&
  error.code === 'VALIDATION_FAILED' &&
  error.issues.every(({ loc }) => loc[0] === 'body')

const deletedError = (name: string) =>
  new PilothouseError({
    status: 409,
    code: 'CONFLICT',
    detail: `Another caller deleted ${name} during this call. Call deploy again to create it.`,
    requestId: null,
  })

/** Quotes the caller's key as in draft-ietf-httpapi-idempotency-key-header. Without a key the connection generates one per write. */
function idempotencyKey(key: string | undefined, write: string): Record<string, string> {
  if (key === undefined) return {}
  if (!/^[\x20-\x7e]{1,200}$/.test(key))
    throw new TypeError('idempotencyKey must have 1 to 200 printable ASCII characters.')
  return { 'Idempotency-Key': `"${`${key}:${write}`.replace(/["\\]/g, '\\$&')}"` }
}

/** The server's mask of a value. A write with this text keeps the stored value. */
const UNCHANGED = '••••••••'

/** Returns the whole set after the change, for a write that also changes other fields. */
function applySecretsChange({ secrets }: Deployment, { set = [], unset = [] }: SecretsChange): Secret[] {
  const all = new Map(secrets.map(({ name }) => [name, UNCHANGED]))
  for (const name of unset) all.delete(name)
  for (const { name, value } of set) all.set(name, value)
  return [...all].map(([name, value]) => ({ name, value })).sort((a, b) => (a.name < b.name ? -1 : 1))
}

export interface RollbackOptions {
  deploymentId: string
  /** default: the newest deployed revision that is older than the active one */
  revisionId?: string
  signal?: AbortSignal
}

/** Returns the id of the redeployed revision, without waiting for it. Throws PilothouseError (NOT_FOUND: no earlier revision; NOT_REDEPLOYABLE). */
export async function rollback(connection: Connection, options: RollbackOptions): Promise<string> {
  const { deploymentId, signal } = options
  const revisionId = options.revisionId ?? (await previousDeployed(connection, deploymentId, signal)).id
  await connection.api.POST('/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy', {
    params: { path: { deployment_id: deploymentId, revision_id: revisionId } },
    signal,
  })
  return revisionId
}

const PAGE_SIZE = 100

/** Looks only at revisions older than the active one, so a second rollback goes further back instead of undoing the first. */
async function previousDeployed({ api }: Connection, deploymentId: string, signal?: AbortSignal): Promise<Revision> {
  const path = { deployment_id: deploymentId }
  const { data } = await api.GET('/v2/deployments/{deployment_id}', { params: { path }, signal })
  const active = (data as Deployment).active_revision_id
  let seenActive = active === null
  for (let offset = 0; ; offset += PAGE_SIZE) {
    const query = { limit: PAGE_SIZE, offset }
    const page = await api.GET('/v2/deployments/{deployment_id}/revisions', { params: { path, query }, signal })
    const { resources } = page.data!
    for (const revision of resources) {
      if (seenActive && revision.status === 'DEPLOYED') return revision
      if (revision.id === active) seenActive = true
    }
    if (resources.length < PAGE_SIZE) throw noEarlierRevision(deploymentId)
  }
}

const noEarlierRevision = (id: string) =>
  new PilothouseError({
    status: 404,
    code: 'NOT_FOUND',
    detail: `Deployment ${id} has no deployed revision older than the active one.`,
    requestId: null,
  })
