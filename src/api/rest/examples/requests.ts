/** Examples of request bodies, by schema id. */
import { ID } from './ids.ts'

const RESOURCES = { min_scale: 1, max_scale: 3, cpu: 1, memory_mb: 1024 }

export const REQUEST_EXAMPLES = {
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
