/**
 * An MCP server that requires a token. It names its authorization server. A test can set the answer of any path, so it
 * can also play an authorization server.
 */
import { startWebServer, type WebServer } from './web-server.ts'

export interface McpServer extends WebServer {
  /** Address of its endpoint: `${origin}/mcp`. */
  url: string
}

export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource'
export const SERVER_METADATA = '/.well-known/oauth-authorization-server'

export interface McpOptions {
  /** Its published authorization servers; absent: it publishes no metadata. */
  authorizationServers?: string[]
  /** Whether the challenge names the address of its metadata. */
  named?: boolean
}

export async function startMcpServer({ authorizationServers, named = false }: McpOptions = {}): Promise<McpServer> {
  const web = await startWebServer()
  const { origin } = web
  const url = `${origin}/mcp`
  // not at the default path, so a client that finds it has read the challenge
  const metadataPath = named ? '/about-me' : `${RESOURCE_METADATA}/mcp`
  web.answer('/mcp', {
    status: 401,
    headers: {
      'www-authenticate': named ? `Bearer realm="mcp", resource_metadata="${origin}${metadataPath}"` : 'Bearer',
    },
    body: { error: 'invalid_token' },
  })
  if (authorizationServers)
    web.answer(metadataPath, { body: { resource: url, authorization_servers: authorizationServers } })
  return { ...web, url }
}
