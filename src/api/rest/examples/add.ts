/**
 * Adds examples to the OpenAPI document: to every request body and to every answer. A test parses each example with its
 * schema.
 */

import type { ErrorCode } from '../../../domain/errors/errors.ts'
import { exampleAnswer, nameOf, type Schema } from './answers.ts'
import { DATA_PLANE_EXAMPLES } from './data-plane.ts'
import { ID } from './ids.ts'

const RESOURCES = { min_scale: 1, max_scale: 3, cpu: 1, memory_mb: 1024 }

/** Examples of request bodies, by schema id. */
const REQUEST_EXAMPLES = {
  DeploymentCreate: {
    name: 'support-agent',
    source: 'gitprovider',
    source_config: {
      integration_id: ID.integration,
      repo_url: 'https://github.com/acme/agent',
      deployment_type: 'prod',
      build_on_push: true,
      resource_spec: RESOURCES,
    },
    source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
    secrets: [{ name: 'OPENAI_API_KEY', value: 'sk-…' }],
  },
  DeploymentUpdate: {
    source_revision_config: { repo_ref: 'main' },
    secrets: [{ name: 'OPENAI_API_KEY', value: '••••••••' }],
  },
  SecretsChange: { set: [{ name: 'OPENAI_API_KEY', value: 'sk-…' }], unset: ['ANTHROPIC_API_KEY'] },
  DeploymentTagsUpdate: { tags: [{ key: 'team', value: 'search' }] },
  DeploymentLinkCreate: { expires_in: 3600, path: '/docs' },
  ListenerCreate: { compute_type: 'k8s', compute_id: 'prod-eu', compute_config: { k8s_namespaces: ['agents'] } },
  ListenerUpdate: { compute_config: { k8s_namespaces: ['agents', 'agents-staging'] } },
  OAuthProviderCreate: {
    provider_id: 'acme',
    name: 'Acme',
    client_id: 'pilothouse',
    client_secret: 'the-secret-of-that-client',
    auth_url: 'https://login.acme.example.com/authorize',
    token_url: 'https://login.acme.example.com/token',
    uses_pkce: true,
  },
  OAuthProviderUpdate: { name: 'Acme (staging)', client_secret: 'the-secret-of-that-client' },
  McpDiscovery: { provider_id: 'acme-mcp', name: 'Acme MCP', mcp_server_url: 'https://mcp.acme.example.com/mcp' },
  Authenticate: { provider: 'acme', scopes: ['mail.read'], agent_id: 'support-bot' },
  OAuthTokenMetadata: { label: 'work', is_default: true },
  CreateConnection: { oauth_token_id: ID.token },
  IssueAccessToken: { scopes: ['mail.read'] },
  LoginCreate: { name: 'ada-laptop' },
  LoginLookup: { code: 'BCDF-GHJK' },
  LoginApproval: { role: 'deployer' },
  WorkspaceCreate: { name: 'staging' },
  ApiKeyCreate: { name: 'release', owner: 'Platform team', role: 'deployer' },
  ApiKeyUpdate: { owner: 'Platform team' },
  AlertRuleCreate: { name: 'errors', kind: 'error_rate', threshold: 2, minutes: 5 },
  AlertRuleUpdate: { threshold: 3 },
  WebhookEndpointCreate: {
    name: 'on-call',
    url: 'https://hooks.example.com/pilothouse',
    event_types: ['rollout.failed'],
  },
  WebhookEndpointUpdate: { event_types: ['rollout.*'] },
  DeliveriesReplay: { delivery_ids: [ID.delivery] },
  SessionCreate: { api_key: 'cpk_…' },
}

const request_id = 'c1f1d9b2-6f0c-4c40-8e0e-0f6f5f3f9a11'

/** Examples of errors, by schema id and by status. */
const ERROR_EXAMPLES = {
  Error: { detail: `Deployment ID ${ID.deployment} not found.`, code: 'NOT_FOUND', request_id },
  ValidationError: {
    detail: [
      {
        loc: ['body', 'source_config', 'resource_spec', 'cpu'],
        msg: 'Must be at most 8.',
        type: 'less_than_equal',
      },
    ],
    code: 'VALIDATION_FAILED',
    request_id,
  },
}

/** The most common error of each status, except 404. */
const ERRORS_BY_STATUS: Record<string, { detail: string; code: ErrorCode }> = {
  400: {
    detail: `Revision ID ${ID.revision} can't be redeployed: it is being built.`,
    code: 'NOT_REDEPLOYABLE',
  },
  401: { detail: 'This API key is not known.', code: 'UNAUTHENTICATED' },
  403: { detail: 'This needs the role deployer.', code: 'FORBIDDEN' },
  409: { detail: `Revision ID ${ID.revision} has ended already (DEPLOYED).`, code: 'CONFLICT' },
  412: {
    detail: `Deployment ID ${ID.deployment} was changed in the meantime and is now at version 5. Read it again, then repeat the write.`,
    code: 'PRECONDITION_FAILED',
  },
  413: { detail: 'The body is larger than 1 MiB.', code: 'PAYLOAD_TOO_LARGE' },
  415: { detail: 'The body must be application/json.', code: 'UNSUPPORTED_MEDIA_TYPE' },
  429: {
    detail: 'This key exceeded its limit of 500 requests a second (bursts of up to 2000). Try again later.',
    code: 'RATE_LIMITED',
  },
  500: { detail: 'Internal error', code: 'INTERNAL' },
  502: { detail: 'The git provider can’t be reached.', code: 'GITPROVIDER_UNAVAILABLE' },
  503: { detail: 'The database is unavailable. Try again.', code: 'UNAVAILABLE' },
}

/** Undefined: use the example of the schema. */
function errorExample(status: string): object | undefined {
  const found = ERRORS_BY_STATUS[status]
  return found && { ...found, request_id }
}

/** by schema id */
const EXAMPLES: Record<string, unknown> = { ...REQUEST_EXAMPLES, ...DATA_PLANE_EXAMPLES, ...ERROR_EXAMPLES }

interface Content {
  content?: Record<string, { schema?: Schema; example?: unknown }>
}
interface Documented {
  paths?: Record<string, Record<string, { requestBody?: Content; responses?: Record<string, Content> }>>
  components?: { schemas?: Record<string, Schema> }
}

/** Changes the document in place and returns it. */
export function addExamples<D extends object>(document: D): D {
  const { paths = {}, components } = document as Documented
  for (const methods of Object.values(paths))
    for (const { requestBody, responses = {} } of Object.values(methods)) {
      const body = jsonOf(requestBody)
      if (body?.schema) body.example = writtenFor(body.schema)
      for (const [status, answer] of Object.entries(responses)) {
        const json = jsonOf(answer)
        if (!json?.schema) continue
        const error = json.schema.$ref?.endsWith('/Error') ? errorExample(status) : undefined
        json.example = error ?? writtenFor(json.schema) ?? exampleAnswer(json.schema, components?.schemas ?? {})
      }
    }
  return document
}

const jsonOf = (part: Content | undefined) => part?.content?.['application/json']

/** The schema of a request body may have the suffix `Input`. */
const writtenFor = ({ $ref = '' }: Schema) => EXAMPLES[nameOf($ref).replace(/Input$/, '')]
