/** The shapes of OAuth providers (docs/oauth.md#rules), for the verbs and both transports. */
import { z } from 'zod'
import { optional, printableName, uuid } from '../parsing/fields.ts'

export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const
export type AuthMethod = (typeof AUTH_METHODS)[number]

export const PROVIDER_TYPES = ['microsoft', 'salesforce', 'slack'] as const
export type ProviderType = (typeof PROVIDER_TYPES)[number]

export const CODE_CHALLENGE_METHODS = ['S256'] as const

/** The last segment of another route, so not available as a name. */
const RESERVED = 'mcp-discover'

/** Part of the redirect URI (`redirectUriOf`). Never a UUID, since paths take it or the id of the row. */
export const providerId = z
  .string()
  .max(128)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    'Must begin with a letter or a digit, and have letters, digits, dots, hyphens and underscores only.',
  )
  .refine((text) => !uuid.safeParse(text).success, 'Must not be a UUID.')
  .refine((text) => text !== RESERVED, `Must not be ${RESERVED}.`)
  .describe('Given by you: what every other call names it by, and part of the redirect URI. Cannot be changed.')

export const providerName = printableName.describe('For people.')

/** The characters of client ids and secrets (RFC 6749, A.1 and A.2), which are safe in headers and forms. */
const visible = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[ -~]*$/, 'Must be printable ASCII characters only.')

/** providers/rules.ts checks whether it may be used. */
export const url = z.string().min(1).max(2048)

const ABOUT = {
  auth_url:
    'Where people are sent: https, or http on this very machine; at no private address unless OUTBOUND_ALLOW names it. Parameters of its own are kept.',
  token_url: 'Where codes and refresh tokens are used: https, or http on this very machine.',
  uses_pkce: 'Whether a code verifier is sent (RFC 7636).',
  method: 'How the client proves itself at the token endpoint.',
}

const clientId = visible(1024)
const clientSecret = optional(visible(4096)).describe('Stored encrypted, and in no answer.')
const usesPkce = optional(z.boolean())
const codeChallengeMethod = optional(z.enum(CODE_CHALLENGE_METHODS).meta({ typeName: 'CodeChallengeMethod' }))
const providerType = optional(z.enum(PROVIDER_TYPES).meta({ typeName: 'OAuthProviderType' })).describe(
  'For those that depart from the standard.',
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

/** The fields that can be changed. */
export const changes = z.object({
  name: optional(providerName),
  client_id: optional(clientId),
  client_secret: clientSecret,
  auth_url: optional(url).describe(ABOUT.auth_url),
  token_url: optional(url).describe(
    `${ABOUT.token_url} Of another origin: only with the client_secret, if there is one.`,
  ),
  uses_pkce: usesPkce.describe(ABOUT.uses_pkce),
  code_challenge_method: codeChallengeMethod,
  token_endpoint_auth_method: authMethod.describe(`${ABOUT.method} With none the stored secret goes.`),
})

/** The other fields may be sent back unchanged; another value is a violation (docs/api-rules.md#errors). */
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

/** Any text, so that an unknown one is a 404, not a 422 (docs/oauth.md#rules). */
export const providerPath = z.object({ provider_id: z.string().describe('Its provider_id, or its id.') })
