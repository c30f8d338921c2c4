/**
 * A control plane, a cluster and a listener, as a self-hosted team has them: the real server, the real listener
 * process with exactly the rights of its manifest, and the cluster of TEST_KUBECONFIG or its stand-in.
 */
import { randomUUID } from 'node:crypto'
import { type TestApp, testApp } from '../support/app.ts'
import { Follower, type StatusEvent } from '../support/follower.ts'
import { openTestCluster, type TestCluster } from '../support/kubernetes/cluster.ts'
import { type AdminView, adminView } from '../support/kubernetes/objects.ts'
import { type Running, run } from '../support/process.ts'

export interface ClusterPlace {
  app: TestApp
  cluster: TestCluster
  /** The objects in it. */
  objects: AdminView
  /** The listener's namespace with rights. */
  namespace: string
  /** A namespace of the listener without rights. */
  forbidden: string
  listenerId: string
  /** id of the listener. */
  key: string
  listeners: Running[]
  startListener(env?: Record<string, string>): Promise<Running>
  /** Creates a deployment of an image; `until` waits for its events. */
  create(image: string, more?: More): Promise<Deployed>
  close(): Promise<void>
}

interface More {
  namespace?: string
  source_config?: object
  secrets?: { name: string; value: string }[]
  secret_references?: { name: string; secret_name: string; secret_key: string }[]
}

// biome-ignore lint/suspicious/noExplicitAny: bodies as REST presents them
type Any = any

/** One deployment and its events. */
export class Deployed {
  readonly id: string
  readonly follower: Follower
  readonly #app: TestApp

  constructor(app: TestApp, id: string) {
    this.#app = app
    this.id = id
    this.follower = new Follower(() => [app.url], app.keys.admin, id)
  }

  get events(): StatusEvent[] {
    return this.follower.events
  }

  /** The event with which a revision reached one of these statuses. */
  async until(revisionId: string, ...statuses: string[]): Promise<StatusEvent> {
    return this.follower.until((event) => event.revision.id === revisionId && statuses.includes(event.to))
  }

  /** Like `until`, and it must be DEPLOYED. */
  async deployed(revisionId: string): Promise<StatusEvent> {
    const event = await this.until(revisionId, 'DEPLOYED', 'CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'SKIPPED')
    if (event.to !== 'DEPLOYED') throw new Error(`${event.to}: ${event.message}`)
    return event
  }

  async read(): Promise<Any> {
    return (await this.#app.rest('GET', `/v2/deployments/${this.id}`)).body
  }

  async revision(id: string): Promise<Any> {
    return (await this.#app.rest('GET', `/v2/deployments/${this.id}/revisions/${id}`)).body
  }

  /** PATCHes it and returns the deployment. */
  async patch(body: object): Promise<Any> {
    const answer = await this.#app.rest('PATCH', `/v2/deployments/${this.id}`, { body })
    if (answer.status !== 200) throw new Error(answer.text)
    return answer.body
  }

  /** Creates a revision of another image; returns its id. */
  async update(image: string): Promise<string> {
    return (await this.patch({ source_revision_config: { image_uri: image } })).latest_revision_id
  }

  async latest(): Promise<string> {
    return (await this.read()).latest_revision_id
  }

  async health(): Promise<{ ready: number; desired: number; message: string | null; observedAt: string } | null> {
    const query = 'query($id: ID!) { deployment(id: $id) { health { ready desired message observedAt } } }'
    return (await this.#app.gql(query, { id: this.id })).data.deployment.health
  }

  async log(revisionId: string): Promise<string[]> {
    const { body } = await this.#app.rest(
      'GET',
      `/v2/deployments/${this.id}/revisions/${revisionId}/logs?type=deploy&limit=1000`,
    )
    return body.logs.map((line: { message: string }) => line.message)
  }

  remove(): Promise<Any> {
    return this.#app.rest('DELETE', `/v2/deployments/${this.id}`)
  }
}

/** `settings`: of the server. */
export async function openClusterPlace(settings: Record<string, string> = {}): Promise<ClusterPlace> {
  const cluster = await openTestCluster()
  const namespace = await cluster.createNamespace()
  const forbidden = await cluster.createNamespace()
  const kubeconfig = await cluster.limitedKubeconfig({ namespaces: [namespace] })
  const app = await testApp({ settings: { RUNTIME: 'none', SWEEP_SECONDS: '1', ...settings } })
  const listener = await app.rest('POST', '/v2/listeners', {
    body: {
      compute_type: 'k8s',
      compute_id: `cluster-${randomUUID()}`,
      compute_config: { k8s_namespaces: [namespace, forbidden] },
    },
  })
  const listenerId: string = listener.body.id
  const minted = await app.gql(
    `mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeySuccess { key } ... on Error { message } } }`,
    { input: { name: 'listener', role: 'listener', listenerId } },
  )
  const key: string = minted.data.createApiKey.key
  const listeners: Running[] = []
  const followers: Follower[] = []
  return {
    app,
    cluster,
    objects: adminView(cluster.kubeconfig),
    namespace,
    forbidden,
    listenerId,
    key,
    listeners,
    async startListener(env = {}) {
      const running = run('cli', ['listener'], {
        CONTROL_PLANE_URL: app.url,
        CONTROL_PLANE_API_KEY: key,
        LISTENER_ID: listenerId,
        KUBECONFIG: kubeconfig,
        LISTENER_HOST: '127.0.0.1',
        LISTENER_PORT: '0',
        LEASE_SECONDS: '5',
        ...env,
      })
      listeners.push(running)
      return running
    },
    async create(image, { namespace: at = namespace, source_config, ...more } = {}) {
      const { status, body, text } = await app.rest('POST', '/v2/deployments', {
        body: {
          name: `agent-${randomUUID()}`,
          source: 'external_container',
          source_config: { listener_id: listenerId, listener_config: { k8s_namespace: at }, ...source_config },
          source_revision_config: { image_uri: image },
          secrets: [],
          ...more,
        },
      })
      if (status !== 201) throw new Error(text)
      const deployed = new Deployed(app, body.id)
      followers.push(deployed.follower)
      return deployed
    },
    async close() {
      for (const { child } of listeners) {
        child.kill('SIGCONT')
        child.kill('SIGTERM')
      }
      await Promise.all([...listeners.map(({ ended }) => ended), ...followers.map((follower) => follower.close())])
      await app.close()
      await cluster.close()
    },
  }
}
