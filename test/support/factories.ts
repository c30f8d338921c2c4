/** Starting points of tests, created through the API where possible. */
import { randomUUID } from 'node:crypto'
import type { Listener } from '../../src/generated/prisma/client.ts'
import { type Call, newKey, type TestApp, type TestTenant } from './app.ts'

// biome-ignore lint/suspicious/noExplicitAny: a deployment as REST presents it
export type DeploymentBody = any

interface Overrides {
  name?: string
  source_config?: object
  source_revision_config?: object
  [field: string]: unknown
}

/** A valid body of a deployment from git. `overrides` are merged into it. */
export function gitBody(tenant: Pick<TestTenant, 'integrationId'>, overrides: Overrides = {}) {
  const { source_config, source_revision_config, ...rest } = overrides
  return {
    name: `git-${randomUUID()}`,
    source: 'gitprovider',
    source_config: {
      integration_id: tenant.integrationId,
      repo_url: 'https://example.com/acme/agent.git',
      ...source_config,
    },
    source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json', ...source_revision_config },
    secrets: [],
    ...rest,
  }
}

/** A valid body of a deployment of an image. */
export function imageBody(overrides: Overrides = {}) {
  const { source_config, source_revision_config, ...rest } = overrides
  return {
    name: `image-${randomUUID()}`,
    source: 'external_container',
    source_config: { ...source_config },
    source_revision_config: { image_uri: 'registry.example.com/agent:1', ...source_revision_config },
    secrets: [],
    ...rest,
  }
}

/** Creates a deployment from git. */
export function gitDeployment(app: TestApp, overrides?: Overrides, call?: Call): Promise<DeploymentBody> {
  return create(app, gitBody(app.tenant, overrides), call)
}

/** Creates a deployment of an image. */
export function imageDeployment(app: TestApp, overrides?: Overrides, call?: Call): Promise<DeploymentBody> {
  return create(app, imageBody(overrides), call)
}

async function create(app: TestApp, body: object, call?: Call): Promise<DeploymentBody> {
  const answer = await app.rest('POST', '/v2/deployments', { body, ...call })
  if (answer.status !== 201) throw new Error(`could not create a deployment: ${answer.status} ${answer.text}`)
  return answer.body
}

/** Creates a listener of workspace A that has just called, unless the test says otherwise. */
export function listener(app: TestApp, overrides: Partial<Listener> = {}): Promise<Listener> {
  return app.app.core.db.listener.create({
    data: {
      workspaceId: app.tenant.workspaceId,
      computeType: 'k8s',
      computeId: `cluster-${randomUUID()}`,
      k8sNamespaces: ['agents'],
      lastSeenAt: new Date(),
      ...overrides,
    },
  })
}

/** Creates a key that can only get this agent's access tokens. */
export function agentKey(app: TestApp, agentId: string, { organizationId, workspaceId } = app.tenant): Promise<string> {
  return newKey(app.app.core, { organizationId, workspaceId, role: 'agent', agentId })
}

/** Creates a key that can only run the builds of this workspace. */
export function builderKey(app: TestApp, { organizationId, workspaceId } = app.tenant): Promise<string> {
  return newKey(app.app.core, { organizationId, workspaceId, role: 'builder' })
}

/** Creates a key that can only do the work of this listener. `tenant`: the listener's workspace. */
export function listenerKey(
  app: TestApp,
  { id, workspaceId }: Pick<Listener, 'id' | 'workspaceId'>,
  tenant: TestTenant = app.tenant,
): Promise<string> {
  const { organizationId } = tenant
  return newKey(app.app.core, { organizationId, workspaceId, role: 'listener', listenerId: id })
}

/** A disabled alert rule. */
export const storedRule = ({ app, tenant: { workspaceId } }: TestApp) =>
  app.core.db.alertRule.create({ data: { workspaceId, name: 'x', kind: 'not_serving', minutes: 5, enabled: false } })
