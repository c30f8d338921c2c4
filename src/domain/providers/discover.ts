/**
 * Makes an OAuth provider of an MCP server: finds its authorization server, registers a client there, and keeps both.
 * From then on it is a provider like any other (contract 8).
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { OAuthProvider } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { rejectIfAny, ValidationError } from '../errors.ts'
import { parse, type RawInput, violation } from '../parse.ts'
import { asWritten, type ReadBack } from '../written.ts'
import { McpDiscoveryError, McpUnavailableError, OAuthUnavailableError, type RegisteredClient } from './client.ts'
import { insertProvider, requireUnused } from './create.ts'
import { redirectUriOf } from './find.ts'
import { asSentence } from './rules.ts'
import { providerId, providerName, url } from './schemas.ts'

const discoverBody = z
  .object({
    // the redirect URI of what is registered here has the row's id
    provider_id: providerId.describe('Given by you: what every other call names it by. Cannot be changed.'),
    name: providerName,
    mcp_server_url: url.describe('Of its MCP endpoint: https, or http on this very machine.'),
  })
  .meta({ id: 'McpDiscovery' })
type DiscoverBody = z.output<typeof discoverBody>

export const discoverInput = z.object({ body: discoverBody })

/**
 * Answers like `createProvider`. Role: admin. Throws ForbiddenError; ValidationError, also for a server that lacks what
 * is needed; ConflictError (ALREADY_EXISTS); OAuthUnavailableError. Whoever loses against another one for the same
 * `provider_id` leaves a registered client behind that nobody knows.
 */
export function discoverMcpProvider(ctx: RequestContext, raw: RawInput): Promise<OAuthProvider>
export function discoverMcpProvider<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<OAuthProvider, T>): Promise<T>
export async function discoverMcpProvider(
  ctx: RequestContext,
  raw: RawInput,
  read: ReadBack<OAuthProvider, unknown> = asWritten,
): Promise<unknown> {
  requireRole(ctx, 'admin')
  const { body } = parse(discoverInput, raw)
  const refusal = ctx.oauth.refusal(body.mcp_server_url)
  rejectIfAny(refusal === null ? [] : [violation('mcp_server_url', asSentence(refusal))])
  // before anything is registered; the insert looks again
  await requireUnused(ctx, body.provider_id)
  const id = randomUUID()
  const client = await register(ctx, id, body)
  const data = {
    id,
    providerId: body.provider_id,
    name: body.name,
    clientId: client.clientId,
    clientSecret: client.clientSecret,
    authUrl: client.authUrl,
    tokenUrl: client.tokenUrl,
    usesPkce: true,
    tokenEndpointAuthMethod: client.tokenEndpointAuthMethod,
    mcpServerUrl: body.mcp_server_url,
    isDynamicClient: true,
    resource: client.resource,
    issuer: client.issuer,
    revocationUrl: client.revocationUrl,
    userinfoUrl: client.userinfoUrl,
    metadataReadAt: ctx.clock(),
  }
  return insertProvider(ctx, data, read)
}

/** `id`: of the row that is to be. */
async function register(ctx: RequestContext, id: string, body: DiscoverBody): Promise<RegisteredClient> {
  const redirectUri = redirectUriOf(ctx, { id, providerId: body.provider_id, isDynamicClient: true })
  try {
    return await ctx.oauth.registerForMcp(body.mcp_server_url, { name: body.name, redirectUri })
  } catch (error) {
    if (error instanceof McpDiscoveryError) throw new ValidationError([violation('mcp_server_url', error.message)])
    if (error instanceof McpUnavailableError) throw new OAuthUnavailableError(error.message)
    throw error
  }
}
