/** Calls of an admin over REST and GraphQL, to any running server. */
import { randomUUID } from 'node:crypto'
import { KEY, type Place } from './place.ts'
import { pause } from './waiting.ts'

export interface Call {
  method: string
  path: string
  body?: object
}

/** Timeout in ms: a server that was paused, or lost its database, during the call may never answer. */
const CALL_TIMEOUT_MS = 10_000

export class Calls {
  readonly #place: Place
  #turn = 0
  /** Number of unsuccessful answers by status; `none`: no answer. */
  readonly refused: Record<string, number> = {}

  constructor(place: Place) {
    this.#place = place
  }

  /** Repeats the call until a server answers with success. */
  // biome-ignore lint/suspicious/noExplicitAny: a body as the API presents it
  async untilDone(call: Call): Promise<any> {
    for (;;) {
      const body = await this.once(call)
      if (body) return body
      await pause(50)
    }
  }

  /** The body of a success; null for every other answer. */
  // biome-ignore lint/suspicious/noExplicitAny: a body as the API presents it
  async once({ method, path, body }: Call): Promise<any> {
    const server = this.#next()
    if (!server) return null
    try {
      const response = await fetch(server.direct + path, {
        method,
        headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      })
      const answer = await response.json()
      if (response.ok && !answer.errors) return answer
      this.#count(`${response.status} ${answer.code ?? answer.errors?.[0].extensions.code}`)
    } catch {
      this.#count('none')
    }
    return null
  }

  /** Creates a key of the workspace. */
  async newKey(input: { role: string; listenerId?: string }): Promise<{ id: string; key: string }> {
    const query = `mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) {
      ... on CreateApiKeySuccess { key apiKey { id } } ... on Error { message } } }`
    const variables = { input: { name: `chaos ${randomUUID()}`, ...input } }
    const { data } = await this.untilDone({ method: 'POST', path: '/graphql', body: { query, variables } })
    return { id: data.createApiKey.apiKey.id, key: data.createApiKey.key }
  }

  async newListener(name: string): Promise<string> {
    const body = { compute_type: 'k8s', compute_id: name, compute_config: { k8s_namespaces: ['agents'] } }
    return (await this.untilDone({ method: 'POST', path: '/v2/listeners', body })).id
  }

  /** Creates deployments of an image for this listener. */
  async newDeployments(count: number, name: string, listenerId: string): Promise<{ id: string; revisionId: string }[]> {
    const made: { id: string; revisionId: string }[] = []
    for (let i = 0; i < count; i++) {
      const body = {
        name: `${name}-${i}`,
        source: 'external_container',
        source_config: { listener_id: listenerId, listener_config: { k8s_namespace: 'agents' } },
        source_revision_config: { image_uri: 'registry.example.com/agent:0' },
        secrets: [],
      }
      const { id, latest_revision_id } = await this.untilDone({ method: 'POST', path: '/v2/deployments', body })
      made.push({ id, revisionId: latest_revision_id })
    }
    return made
  }

  /** Uses the servers in turn and skips paused ones, which would not answer. */
  #next() {
    const up = this.#place.servers.filter(({ state }) => state === 'up')
    return up[this.#turn++ % up.length]
  }

  #count(answer: string): void {
    this.refused[answer] = (this.refused[answer] ?? 0) + 1
  }
}
