/** One resource of each type in workspace A, for tests that try them all with another caller. */
import { hashToken } from '../../src/domain/crypto/random-token.ts'
import { camel } from '../../src/domain/parsing/codec.ts'
import { signIn } from '../sessions/support.ts'
import type { TestApp } from './app.ts'
import { gitDeployment, listener } from './factories.ts'
import { storedAuthorization, storedConnection, storedProvider, storedToken } from './oauth-tokens.ts'

/** Ids by type; `Agent` is a name. */
export type Ids = Record<(typeof TYPES)[number], string>

const TYPES = [
  ...['Deployment', 'Revision', 'Listener', 'TracingProject', 'Tag', 'GitIntegration', 'ApiKey', 'Session'],
  ...['OAuthProvider', 'OAuthToken', 'AgentLink', 'Authorization', 'Login', 'Workspace', 'Organization', 'Agent'],
  ...['WebhookEndpoint', 'EndpointDelivery', 'AlertRule', 'Alert'],
] as const

/** The type of the resource that a parameter names. */
export const TYPE_OF: Record<string, keyof Ids> = {
  deploymentId: 'Deployment',
  revisionId: 'Revision',
  listenerId: 'Listener',
  integrationId: 'GitIntegration',
  apiKeyId: 'ApiKey',
  sessionId: 'Session',
  providerId: 'OAuthProvider',
  provider: 'OAuthProvider',
  tokenId: 'OAuthToken',
  oauthTokenId: 'OAuthToken',
  connectionId: 'AgentLink',
  authId: 'Authorization',
  loginId: 'Login',
  webhookEndpointId: 'WebhookEndpoint',
  alertRuleId: 'AlertRule',
  agentId: 'Agent',
  from: 'Revision',
  to: 'Revision',
}

/** The path of a REST operation, filled with these ids. */
export const pathOf = (template: string, ids: Partial<Ids>) =>
  template.replace(/\{(\w+)\}/g, (parameter, name: string) => ids[TYPE_OF[camel(name)]!] ?? parameter)

/** The code of the stored login. */
export const LOGIN_CODE = 'BBBB-CCCC'

/** A login that the workspace approved. Another workspace must not find it. */
function storedLogin({ app, tenant: { workspaceId } }: TestApp) {
  const [secretHash, codeHash] = ['secret', LOGIN_CODE].map(hashToken) as [string, string]
  const expiresAt = new Date(Date.now() + 600_000)
  const decided = { approved: true, workspaceId, role: 'deployer', deciderKind: 'api_key', decidedBy: 'x' } as const
  const data = { name: 'x', address: '192.0.2.1', secretHash, codeHash, keySalt: 'salt', expiresAt, ...decided }
  return app.core.db.login.create({ data })
}

/** An alert rule with an alert. */
async function storedAlert({ app, tenant: { workspaceId } }: TestApp, mark: string, deploymentId: string) {
  const data = { workspaceId, name: mark, kind: 'rollout_failed', minutes: 0, enabled: false }
  const { id: ruleId } = await app.core.db.alertRule.create({ data })
  const alert = { ruleId, workspaceId, deploymentId, firedAt: new Date(), resolvedAt: new Date() }
  return { AlertRule: ruleId, Alert: (await app.core.db.alert.create({ data: alert })).id }
}

/** A webhook endpoint with a dead letter. */
async function storedEndpoint({ app, tenant: { workspaceId } }: TestApp, mark: string) {
  const data = {
    workspaceId,
    name: mark,
    url: `https://${mark}.example.com`,
    form: 'standard',
    secret: mark,
    cursor: 0,
  }
  const endpoint = await app.core.db.webhookEndpoint.create({ data: { ...data, enabled: false, eventTypes: ['*'] } })
  const delivery = {
    endpointId: endpoint.id,
    workspaceId,
    sequence: 1,
    type: mark,
    orderingKey: mark,
    deadAt: new Date(),
  }
  const dead = await app.core.db.endpointDelivery.create({ data: delivery })
  return { WebhookEndpoint: endpoint.id, EndpointDelivery: dead.id }
}

/**
 * `mark`: in every text. `ofOrganization`: in every text of what the whole organization shares. `owner`: the key of the
 * token's owner.
 */
export async function oneOfEach(
  app: TestApp,
  {
    mark = 'ours',
    ofOrganization = mark,
    owner = app.keys.admin,
    agent = 'support-bot',
  }: Partial<Record<'mark' | 'ofOrganization' | 'owner' | 'agent', string>> = {},
): Promise<Ids> {
  const { db } = app.app.core
  const { workspaceId, organizationId, integrationId } = app.tenant
  const own = await listener(app, { computeId: `${mark}-cluster` })
  const { id } = await gitDeployment(app, { name: `${mark}-deployment`, secrets: [{ name: 'S', value: mark }] })
  const tag = await db.tag.create({ data: { workspaceId, key: mark, value: 'x' } })
  await db.deploymentTag.create({ data: { deploymentId: id, tagId: tag.id } })
  // a filter by all of them finds it
  const deployment = await db.deployment.update({ where: { id }, data: { listenerId: own.id } })
  const provider = await storedProvider(app, { providerId: ofOrganization, name: ofOrganization })
  const token = await storedToken(app, { provider, key: owner, row: { label: mark } })
  const newestKey = { where: { workspaceId }, orderBy: { createdAt: 'desc' } } as const
  return {
    Deployment: id,
    Revision: deployment.latestRevisionId!,
    Listener: own.id,
    TracingProject: deployment.tracingProjectId!,
    Tag: tag.id,
    GitIntegration: integrationId,
    ApiKey: (await db.apiKey.findFirstOrThrow(newestKey)).id,
    Session: (await signIn(app, { api_key: app.keys.admin })).id,
    OAuthProvider: provider.id,
    OAuthToken: token.id,
    AgentLink: (await storedConnection(app, token, agent)).id,
    Authorization: (await storedAuthorization(app, token)).id,
    Login: (await storedLogin(app)).id,
    Workspace: workspaceId,
    Organization: organizationId,
    Agent: agent,
    ...(await storedEndpoint(app, mark)),
    ...(await storedAlert(app, mark, id)),
  }
}
