/** Finds a deployment by name or id, and the address of its agent. */
import type { Connection } from './connection.ts'
import { PilothouseError } from './errors.ts'
import type { Deployment } from './openapi.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Returns the live deployment with exactly this name, or null. At most one has it. */
export async function findByName({ api }: Connection, name: string, signal?: AbortSignal): Promise<Deployment | null> {
  const { data } = await api.GET('/v2/deployments', { params: { query: { name, limit: 100 } }, signal })
  return data!.resources.find(({ status }) => status !== 'AWAITING_DELETE') ?? null
}

/** Throws PilothouseError (NOT_FOUND). */
export async function findDeployment(
  connection: Connection,
  idOrName: string,
  signal?: AbortSignal,
): Promise<Deployment> {
  const found =
    (UUID.test(idOrName) ? await findById(connection, idOrName, signal) : null) ??
    (await findByName(connection, idOrName, signal))
  if (found) return found
  const detail = `There is no deployment ${idOrName}.`
  throw new PilothouseError({ status: 404, code: 'NOT_FOUND', detail, requestId: null })
}

async function findById({ api }: Connection, id: string, signal?: AbortSignal): Promise<Deployment | null> {
  const params = { path: { deployment_id: id } }
  const { data } = await api.GET('/v2/deployments/{deployment_id}', { params, signal }).catch((error) => {
    if (error instanceof PilothouseError && error.code === 'NOT_FOUND') return { data: null }
    throw error
  })
  return data ?? null
}

/**
 * `http://NAME.localhost:PORT` → `http://127.0.0.1:PORT/~NAME`. Any other URL of a deployment stays as it is. With `https` and a port
 * too: no certificate fits 127.0.0.1, so the door accepts connections of its machine without TLS.
 */
export function agentUrl(url: string): string {
  const [, scheme, name, port = ''] = /^(https?):\/\/([a-z0-9-]+)\.localhost(:\d+)?\/?$/.exec(url) ?? []
  const isReverseProxy = scheme === 'https' && port === ''
  return name === undefined || isReverseProxy ? url : `http://127.0.0.1${port}/~${name}`
}
