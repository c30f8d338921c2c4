/** Calls the REST API of the server of all tests. */
import { inject } from 'vitest'

const { url, key } = inject('server')

/** `by`: a key; default: the admin's. Throws if the call is refused. */
// biome-ignore lint/suspicious/noExplicitAny: as REST presents it
export async function rest(method: string, target: string, body?: object, by = key): Promise<any> {
  const response = await fetch(url + target, {
    method,
    headers: { 'x-api-key': by, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${text}`)
  return text ? JSON.parse(text) : null
}

/** Creates a deployment on the scene's listener, which is scripted. */
export async function createDeployment(name: string, image_uri: string, more: object = {}) {
  const { resources } = await rest('GET', '/v2/listeners')
  return rest('POST', '/v2/deployments', {
    name,
    source: 'external_container',
    source_config: { listener_id: resources[0].id },
    source_revision_config: { image_uri },
    secrets: [],
    ...more,
  })
}
