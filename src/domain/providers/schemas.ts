/** The shapes of what is said about OAuth providers (spec 2.8, contract 8), for the verbs and both transports. */
import { z } from 'zod'
import { optional, printableName, uuid } from '../fields.ts'

export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const
export type AuthMethod = (typeof AUTH_METHODS)[number]

export const PROVIDER_TYPES = ['microsoft', 'salesforce', 'slack'] as const
export type ProviderType = (typeof PROVIDER_TYPES)[number]

export const CODE_CHALLENGE_METHODS = ['S256'] as const

/** The last part of the path of an operation: no provider can be called so. */
const TAKEN = 'mcp-discover'

/** Part of the redirect URI (`redirectUriOf`). Never a UUID: those are ids of rows, and a path takes either. */
export const providerId = z
  .string()
  .max(128)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    'Must begin with a letter or a digit, and have letters, digits, dots, hyphens and underscores only.',
  )
  .refine((text) => !uuid.safeParse(text).success, 'Must not be a UUID.')
  .refine((text) => text !== TAKEN, `Must not be ${TAKEN}.`)
  .describe('Given by you: what every other call names it by, and part of the redirect URI. Cannot be changed.')

export const providerName = printableName.describe('For people.')

/**
 * What client ids and secrets are made of (RFC 6749, A.1 and A.2), so that neither can break out of where it is put.
 */
const visible = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[ -~]*$/, 'Must be printable ASCII characters only.')

/** Whether it is a URL that can be used is for rules.ts. */
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
const codeChallengeMethod = optional(z.enum(CODE_CHALLENGE_METHODS))
const providerType = optional(z.enum(PROVIDER_TYPES)).describe('For those that depart from the standard.')
const authMethod = optional(z.enum(AUTH_METHODS))

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

/** What can be changed. */
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

/** The rest may be sent back as it was got; another value is a violation (contract 2). */
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

/** Any text: what is unknown is a 404, not a 422 (contract 8). Its `provider_id`, or the id of its row. */
export const providerPath = z.object({ provider_id: z.string().describe('Its provider_id, or its id.') })
