/** Things that tests start from, made through the API where there is one. */
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

/** The body of a deployment from git, valid as it is. `overrides` are merged into it. */
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

/** The body of a deployment of an image, valid as it is. */
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

/** A listener of workspace A, heard from just now unless told otherwise. */
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

/** A key that is good for nothing but getting this agent's access tokens. */
export function agentKey(app: TestApp, agentId: string, { organizationId, workspaceId } = app.tenant): Promise<string> {
  return newKey(app.app.core, { organizationId, workspaceId, role: 'agent', agentId })
}

/** A key that is good for nothing but the builds of this workspace. */
export function builderKey(app: TestApp, { organizationId, workspaceId } = app.tenant): Promise<string> {
  return newKey(app.app.core, { organizationId, workspaceId, role: 'builder' })
}

/** A key that is good for nothing but the work of this listener. `tenant`: whose the listener is. */
export function listenerKey(
  app: TestApp,
  { id, workspaceId }: Pick<Listener, 'id' | 'workspaceId'>,
  tenant: TestTenant = app.tenant,
): Promise<string> {
  const { organizationId } = tenant
  return newKey(app.app.core, { organizationId, workspaceId, role: 'listener', listenerId: id })
}
