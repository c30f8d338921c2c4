/** Finds the authorization server of an MCP server and registers a client there (MCP authorization; RFC 9728, 8414, 7591). */

import { McpDiscoveryError, McpUnavailableError, type RegisteredClient } from '../../domain/ports/oauth-client.ts'
import { withTimeout } from '../../platform/async/time-limit.ts'
import type { OutboundRules } from '../../platform/http/outbound-address.ts'
import type { Outbound } from './guarded-fetch.ts'
import { findAuthorizationServer } from './mcp-authorization-server.ts'
import { type NewClient, registerClient } from './mcp-registration.ts'
import { findProtectedResource } from './mcp-resource-metadata.ts'

/** For all calls together, because a person waits. */
const TIMEOUT_MS = 20_000

/** Uses the first usable authorization server. Throws McpDiscoveryError or McpUnavailableError for the first one. */
export async function registerForMcp(
  outbound: Outbound,
  rules: OutboundRules,
  mcpServerUrl: string,
  client: NewClient,
  timeoutMs = TIMEOUT_MS,
): Promise<RegisteredClient> {
  return withTimeout(timeoutMs, new AbortController().signal, async (signal) => {
    const requests = { outbound, rules, timeoutMs, signal }
    const { resource, issuers, unnamed } = await findProtectedResource(requests, new URL(mcpServerUrl))
    let wrong: unknown
    for (const issuer of issuers) {
      try {
        const server = await findAuthorizationServer(requests, issuer, unnamed)
        const registered = await registerClient(requests, server, client)
        const { authUrl, tokenUrl, revocationUrl, userinfoUrl } = server
        return { ...registered, issuer: server.issuer, authUrl, tokenUrl, revocationUrl, userinfoUrl, resource }
      } catch (error) {
        if (!(error instanceof McpDiscoveryError || error instanceof McpUnavailableError)) throw error
        wrong ??= error
      }
    }
    throw wrong
  })
}
