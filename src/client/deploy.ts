/**
 * Create or update by name, in one call that may be repeated: its writes have an Idempotency-Key, so that neither a lost answer
 * nor a job that starts again makes a second revision.
 */
import type { Connection } from './connection.ts'
import { PilothouseError } from './errors.ts'
import { findByName } from './find.ts'
import { idempotencyKey } from './idempotency-key.ts'
import type { Deployment, DeploymentCreateInput } from './openapi.ts'
import { changedSet, type Secret, type SecretsChange } from './secrets.ts'

/** As the body of a create. On an update what is absent stays as it is. `secrets`: the whole set, which replaces it; or what becomes of single ones. */
export type DeployBody = Partial<Omit<DeploymentCreateInput, 'name' | 'secrets'>> & {
  secrets?: Secret[] | SecretsChange | undefined
}

/** Writes that somebody else came before, one after the other, after which it is given up. */
const MOST_CONFLICTS = 20

export interface DeployOptions {
  name: string
  /** what is wanted; or how that follows from what there is */
  body: DeployBody | ((existing: Deployment | null) => DeployBody | Promise<DeployBody>)
  /**
   * stands for this one deployment, e.g. of a CI job: up to 200 printable ASCII characters. The same call with the same key, within 24 hours,
   * has the first one's outcome. Default: a new one for each call, which makes its own retries safe
   */
  idempotencyKey?: string
  signal?: AbortSignal
}

export interface Deployed {
  /** as this call left it */
  deployment: Deployment
  /** the revision that this call made; null: what it changed needs none */
  revisionId: string | null
  created: boolean
}

/** Throws PilothouseError and UnreachableError, and what `signal` was aborted with. Of two at once, one creates and the other updates. */
export async function deploy(connection: Connection, options: DeployOptions): Promise<Deployed> {
  const { name, body, signal } = options
  const bodyFor = async (existing: Deployment | null) => (typeof body === 'function' ? body(existing) : body)
  const key = options.idempotencyKey
  const existing = await findByName(connection, name, signal)
  // with the caller's key, what is there may be of an earlier try of this very call: then this is its answer again
  const created = !existing || key !== undefined ? await create(connection, name, await bodyFor(null)) : null
  if (created) return created
  const found = existing ?? (await findByName(connection, name, signal))
  if (!found) throw gone(name)
  return update(connection, found, await bodyFor(found))

  async function create({ api }: Connection, name: string, body: DeployBody): Promise<Deployed | null> {
    try {
      const { data, response } = await api.POST('/v2/deployments', {
        body: { ...body, secrets: wholeSet(body.secrets) ?? [], name } as DeploymentCreateInput,
        headers: idempotencyKey(key, 'create'),
        signal,
      })
      return { deployment: data!, revisionId: revisionOf(response), created: true }
    } catch (error) {
      if (isTaken(error) || (existing && isIncomplete(error))) return null
      throw error
    }
  }

  async function update(connection: Connection, { id }: Deployment, body: DeployBody): Promise<Deployed> {
    const { secrets, ...rest } = body
    if (secrets === undefined || Array.isArray(secrets)) return patch(connection, id, { ...rest, secrets })
    if (!saysAnything(rest)) return patchSecrets(connection, id, secrets)
    // in one revision with the rest, for which the whole set is sent: of what is there when it is written
    for (let conflicts = 0; ; conflicts++) {
      const { data, response } = await connection.api.GET('/v2/deployments/{deployment_id}', { params: at(id), signal })
      try {
        return await patch(
          connection,
          id,
          { ...rest, secrets: changedSet(data!, secrets) },
          response.headers.get('etag'),
        )
      } catch (error) {
        if (!isOvertaken(error) || conflicts >= MOST_CONFLICTS) throw error
      }
    }
  }

  async function patch(
    { api }: Connection,
    id: string,
    body: DeployBody & { secrets: Secret[] | undefined },
    tag: string | null = null,
  ): Promise<Deployed> {
    const { data, response } = await api.PATCH('/v2/deployments/{deployment_id}', {
      params: at(id),
      body,
      headers: { ...idempotencyKey(key, 'update'), ...(tag !== null && { 'If-Match': tag }) },
      signal,
    })
    return { deployment: data!, revisionId: revisionOf(response), created: false }
  }

  async function patchSecrets({ api }: Connection, id: string, body: SecretsChange): Promise<Deployed> {
    const { data, response } = await api.PATCH('/v2/deployments/{deployment_id}/secrets', {
      params: at(id),
      body,
      headers: idempotencyKey(key, 'update'),
      signal,
    })
    return { deployment: data!, revisionId: revisionOf(response), created: false }
  }
}

const at = (deployment_id: string) => ({ path: { deployment_id } })

const wholeSet = (secrets: DeployBody['secrets']): Secret[] | undefined =>
  secrets === undefined || Array.isArray(secrets) ? secrets : secrets.set

/** Whether any member of it has a value. */
const saysAnything = (body: object): boolean =>
  Object.values(body).some((value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? saysAnything(value) : value !== undefined,
  )

/** The revision that a write made or moved; null if none. */
const revisionOf = ({ headers }: Response): string | null => headers.get('x-revision-id')

const isOvertaken = (error: unknown) => error instanceof PilothouseError && error.code === 'PRECONDITION_FAILED'

const isTaken = (error: unknown) => error instanceof PilothouseError && error.code === 'ALREADY_EXISTS'

/** What is said of a change only need not be enough to create one. */
const isIncomplete = (error: unknown) =>
  error instanceof PilothouseError &&
  error.code === 'VALIDATION_FAILED' &&
  error.issues.every(({ loc }) => loc[0] === 'body')

const gone = (name: string) =>
  new PilothouseError({ status: 409, code: 'CONFLICT', detail: `${name} was deleted meanwhile.`, requestId: null })
