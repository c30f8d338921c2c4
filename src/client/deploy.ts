/**
 * Create or update by name, in one call that may be repeated: its writes have an Idempotency-Key, so that neither a lost answer
 * nor a job that starts again makes a second revision.
 */
import type { Connection } from './connection.ts'
import { PilothouseError } from './errors.ts'
import { findByName } from './find.ts'
import { idempotencyKey } from './idempotency-key.ts'
import type { Deployment, DeploymentCreateInput } from './openapi.ts'

/** As the body of a create. On an update what is absent stays as it is, and `secrets`, if there, replace the whole set. */
export type DeployBody = Partial<Omit<DeploymentCreateInput, 'name'>>

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
        body: { secrets: [], ...body, name } as DeploymentCreateInput,
        headers: idempotencyKey(key, 'create'),
        signal,
      })
      return { deployment: data!, revisionId: revisionOf(response), created: true }
    } catch (error) {
      if (isTaken(error) || (existing && isIncomplete(error))) return null
      throw error
    }
  }

  async function update({ api }: Connection, { id }: Deployment, body: DeployBody): Promise<Deployed> {
    const { data, response } = await api.PATCH('/v2/deployments/{deployment_id}', {
      params: { path: { deployment_id: id } },
      body,
      headers: idempotencyKey(key, 'update'),
      signal,
    })
    return { deployment: data!, revisionId: revisionOf(response), created: false }
  }
}

/** The revision that a write made or moved; null if none. */
const revisionOf = ({ headers }: Response): string | null => headers.get('x-revision-id')

const isTaken = (error: unknown) => error instanceof PilothouseError && error.code === 'ALREADY_EXISTS'

/** What is said of a change only need not be enough to create one. */
const isIncomplete = (error: unknown) =>
  error instanceof PilothouseError &&
  error.code === 'VALIDATION_FAILED' &&
  error.issues.every(({ loc }) => loc[0] === 'body')

const gone = (name: string) =>
  new PilothouseError({ status: 409, code: 'CONFLICT', detail: `${name} was deleted meanwhile.`, requestId: null })
