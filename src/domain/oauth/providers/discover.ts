/** Creates an OAuth provider for an MCP server: finds its authorization server and registers a client (docs/oauth.md#rules). */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { rejectIfAny, ValidationError } from '../../errors/errors.ts'
import { parse, violation } from '../../parsing/parse.ts'
import {
  McpDiscoveryError,
  McpUnavailableError,
  OAuthUnavailableError,
  type RegisteredClient,
} from '../../ports/oauth-client.ts'
import { requireRole } from '../../transaction/access.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { writeVerb } from '../../transaction/once.ts'
import { providerId, providerName, url } from '../../values/oauth-provider.ts'
import { redirectUriOf } from '../tokens/provider-access.ts'
import { insertProvider, requireUnused } from './manage.ts'
import { toSentence } from './rules.ts'

const discoverBody = z
  .object({
    // not the description of createBody, because here the redirect URI contains the row's id
    provider_id: providerId.describe(
      'The name of the provider in every other call. You choose it, and it cannot be changed.',
    ),
    name: providerName,
    mcp_server_url: url.describe('The URL of the MCP endpoint: https, or http on the machine of the server.'),
  })
  .meta({ id: 'McpDiscovery' })
type DiscoverBody = z.output<typeof discoverBody>

export const discoverInput = z.object({ body: discoverBody })

/**
 * The loser of two concurrent calls leaves an unused client at the server. Throws ValidationError, also for a server that lacks a
 * required feature; ConflictError (ALREADY_EXISTS); OAuthUnavailableError.
 */
export const discoverMcpProvider = writeVerb<OAuthProvider>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  const { body } = parse(discoverInput, raw)
  const refusal = ctx.oauth.refusal(body.mcp_server_url)
  rejectIfAny(refusal === null ? [] : [violation('mcp_server_url', toSentence(refusal))])
  // before any registration; the insert checks again
  await requireUnused(ctx, body.provider_id)
  const id = randomUUID()
  const client = await register(ctx, id, body)
  const { provider_id, name, mcp_server_url: mcpServerUrl } = body
  const found = { usesPkce: true, isDynamicClient: true, mcpServerUrl, metadataReadAt: ctx.clock() }
  return insertProvider(ctx, { id, providerId: provider_id, name, ...found, ...client }, read)
})

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
