/** MCP servers for discovery tests. */
import { onTestFinished } from 'vitest'
import { type McpOptions, type McpServer, startMcpServer } from '../support/mcp-server.ts'

export const OPENID = '/.well-known/openid-configuration'
export const REDIRECT = 'http://127.0.0.1:8123/v2/auth/callback/acme'
export const RULES = { allow: ['127.0.0.1'] }

/** Runs until the end of the test. */
export async function mcpServer(options?: McpOptions): Promise<McpServer> {
  const server = await startMcpServer(options)
  onTestFinished(() => server.close())
  return server
}
