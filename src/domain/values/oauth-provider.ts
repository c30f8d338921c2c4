/** Shapes of OAuth providers, and those that tokens, authorizations and connections share. */
import { z } from 'zod'
import { optional, printable, printableName, uuid } from '../parsing/fields.ts'

/** A scope of RFC 6749, 3.3: visible ASCII without quotes and backslashes. */
export const scope = z
  .string()
  .max(512)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'Must be a scope: printable ASCII characters without spaces, " and \\.')

export const scopes = z.array(scope).max(100)

/** Callers choose the id, because agents are not stored here. */
export const agentId = printable(255)

export const tokenPath = z.object({ token_id: uuid })

export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const
export type AuthMethod = (typeof AUTH_METHODS)[number]

export const PROVIDER_TYPES = ['microsoft', 'salesforce', 'slack'] as const
export type ProviderType = (typeof PROVIDER_TYPES)[number]

export const CODE_CHALLENGE_METHODS = ['S256'] as const

/** The last segment of another route, so no provider can have this name. */
const RESERVED = 'mcp-discover'

/** Part of the redirect URI (`redirectUriOf`). Must not be a UUID, because paths accept this name or the row's id. */
export const providerId = z
  .string()
  .max(128)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    'Must begin with a letter or a digit, and contain only letters, digits, dots, hyphens and underscores.',
  )
  .refine((text) => !uuid.safeParse(text).success, 'Must not be a UUID.')
  .refine((text) => text !== RESERVED, `Must not be ${RESERVED}.`)
  .describe(
    'You choose it. It identifies the provider in other calls and is part of the redirect URI. Cannot be changed.',
  )

export const providerName = printableName.describe('The name that people see.')

/** Characters of client ids and secrets (RFC 6749, A.1 and A.2). They are safe in headers and forms. */
const visible = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[ -~]*$/, 'Must be printable ASCII characters only.')

/** The format only. providers/rules.ts checks whether the URL is allowed. */
export const url = z.string().min(1).max(2048)

const ABOUT = {
  auth_url:
    'The authorization endpoint, to which people are sent. Must be https, or http on this machine. A private address must be in OUTBOUND_ALLOW. Its query parameters are kept.',
  token_url: 'The token endpoint. Must be https, or http on this machine.',
  uses_pkce: 'Whether to use PKCE (RFC 7636).',
  method: 'How the client authenticates at the token endpoint.',
}

const clientId = visible(1024)
const clientSecret = optional(visible(4096)).describe('Stored encrypted. Responses never contain it.')
const usesPkce = optional(z.boolean())
const codeChallengeMethod = optional(z.enum(CODE_CHALLENGE_METHODS).meta({ typeName: 'CodeChallengeMethod' }))
const providerType = optional(z.enum(PROVIDER_TYPES).meta({ typeName: 'OAuthProviderType' })).describe(
  'Set it for a provider that deviates from the standard.',
)
const authMethod = optional(z.enum(AUTH_METHODS).meta({ typeName: 'TokenEndpointAuthMethod' }))

export const createBody = z
  .object({
    provider_id: providerId,
    name: providerName,
    client_id: clientId,
    client_secret: clientSecret,
    auth_url: url.describe(ABOUT.auth_url),
    token_url: url.describe(ABOUT.token_url),
    uses_pkce: usesPkce.describe(`${ABOUT.uses_pkce} Default: false.`),
    code_challenge_method: codeChallengeMethod,
    provider_type: providerType,
    token_endpoint_auth_method: authMethod.describe(`${ABOUT.method} Default: client_secret_post.`),
  })
  .meta({ id: 'OAuthProviderCreate' })
export type CreateBody = z.output<typeof createBody>

export const changes = z.object({
  name: optional(providerName),
  client_id: optional(clientId),
  client_secret: clientSecret,
  auth_url: optional(url).describe(ABOUT.auth_url),
  token_url: optional(url).describe(
    `${ABOUT.token_url} A change to another origin requires client_secret, if the provider has one.`,
  ),
  uses_pkce: usesPkce.describe(ABOUT.uses_pkce),
  code_challenge_method: codeChallengeMethod,
  token_endpoint_auth_method: authMethod.describe(`${ABOUT.method} \`none\` removes the stored secret.`),
})

/** Callers may send the other fields back unchanged. Another value is a violation (docs/api-rules.md#errors). */
export const updateBody = changes
  .extend({
    id: optional(z.string()),
    organization_id: optional(z.string()),
    provider_id: optional(z.string()),
    provider_type: optional(z.string()),
    mcp_server_url: optional(z.string()),
    is_dynamic_client: optional(z.boolean()),
  })
  .meta({ id: 'OAuthProviderUpdate' })
export type UpdateBody = z.output<typeof updateBody>

/** Accepts any text, so an unknown provider is a 404, not a 422 (docs/oauth.md#rules). */
export const providerPath = z.object({ provider_id: z.string().describe('The provider_id or the id of the provider.') })
