/** Messages about an MCP server or authorization server that can't be discovered: server, location and problem. */
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { registerForMcp } from '../../src/adapters/oauth/mcp-discovery.ts'
import { McpDiscoveryError, McpUnavailableError } from '../../src/domain/ports/oauth-client.ts'
import type { ResolveHost } from '../../src/platform/http/guarded-connect.ts'
import { createOutbound } from '../../src/platform/http/guarded-fetch.ts'
import { type McpServer, RESOURCE_METADATA, SERVER_METADATA } from '../support/mcp-server.ts'
import { mcpServer, OPENID, REDIRECT, RULES } from './mcp-support.ts'

const CLIENT = { name: 'Acme', redirectUri: REDIRECT }

/** The message. `Wrong`: the caller or the server's operator must act; otherwise the problem is temporary. */
async function said(
  url: string,
  Wrong: typeof McpDiscoveryError | typeof McpUnavailableError,
  { resolve, timeoutMs = 10_000 }: { resolve?: ResolveHost; timeoutMs?: number } = {},
): Promise<string> {
  const asked = registerForMcp(createOutbound(RULES, resolve), RULES, url, CLIENT, timeoutMs)
  const error = await asked.catch((thrown) => thrown)
  expect(error).toBeInstanceOf(Wrong)
  expect(JSON.stringify([error.message, error.cause])).not.toContain('canary')
  return error.message
}

const host = (server: McpServer) => new URL(server.url).host

describe('a server without metadata', () => {
  test('is reported with every location that was tried', async () => {
    const mcp = await mcpServer()
    const at = host(mcp)
    expect(await said(mcp.url, McpDiscoveryError)).toBe(
      `This MCP server publishes no protected-resource metadata (RFC 9728; asked ${at}: ` +
        `${RESOURCE_METADATA}/mcp answered 404, ${RESOURCE_METADATA} answered 404). So its own origin was ` +
        'assumed to be its authorization server, as for older servers. The authorization server of this MCP server publishes no metadata (RFC 8414, OpenID ' +
        `Connect Discovery; asked ${at}: ${SERVER_METADATA} answered 404, ${OPENID} answered 404).`,
    )
  })

  test('is reported with the exact locations, including a trailing slash', async () => {
    const mcp = await mcpServer()
    mcp.answer(`${RESOURCE_METADATA}/mcp/`, { status: 410 })
    expect(await said(`${mcp.url}/`, McpDiscoveryError)).toContain(`${RESOURCE_METADATA}/mcp/ answered 410, `)
  })

  test.each([
    [{ body: '<!doctype html><h1>canary</h1>' }, 'HTML'],
    [{ body: 'canary', headers: { 'content-type': 'text/plain' } }, 'something that is not JSON'],
    [{ body: '{"canary', headers: { 'content-type': 'application/json' } }, 'JSON that is cut off or wrong'],
    [{ body: ['canary'] }, 'JSON that is no object'],
    [{ body: { canary: 'canary' } }, 'other JSON'],
    [{ body: '{"canary":1}', headers: { 'content-type': 'text/plain' } }, 'another content type than application/json'],
    [{ body: '' }, 'nothing'],
  ])('is reported as a wrong response (%j), without the server’s text', async (reply, what) => {
    const mcp = await mcpServer()
    for (const path of [`${RESOURCE_METADATA}/mcp`, RESOURCE_METADATA, SERVER_METADATA, OPENID]) mcp.answer(path, reply)
    const message = await said(mcp.url, McpDiscoveryError)
    for (const path of [RESOURCE_METADATA, SERVER_METADATA, OPENID])
      expect(message).toMatch(new RegExp(`${path} answered with ${what}(, /|\\))`))
  })

  test('is not reported as missing when its metadata names no authorization server', async () => {
    const mcp = await mcpServer({ authorizationServers: [] })
    const message = await said(mcp.url, McpDiscoveryError)
    expect(message).toContain('This MCP server’s protected-resource metadata (RFC 9728) names no authorization server.')
    expect(message).not.toContain('publishes no protected-resource metadata')
  })

  test('is reported with the host of the URL in its challenge', async () => {
    const [mcp, elsewhere] = [await mcpServer(), await mcpServer()]
    const header = `Bearer resource_metadata="${elsewhere.origin}/canary"`
    mcp.answer('/mcp', { status: 401, headers: { 'www-authenticate': header } })
    expect(await said(mcp.url, McpDiscoveryError)).toBe(
      'This MCP server names a URL without protected-resource metadata (RFC 9728): ' +
        `${host(elsewhere)} answered 404.`,
    )
    elsewhere.answer('/canary', { status: 500, body: 'canary' })
    expect(await said(mcp.url, McpUnavailableError)).toContain(
      `protected-resource metadata (RFC 9728) could not be read: ${host(elsewhere)} answered 500.`,
    )
  })
})

describe('a named authorization server', () => {
  test('is reported when it publishes nothing, without its path', async () => {
    const issuing = await mcpServer()
    const mcp = await mcpServer({ authorizationServers: [`${issuing.origin}/canary`] })
    expect(await said(mcp.url, McpDiscoveryError)).toBe(
      'The authorization server of this MCP server publishes no metadata (RFC 8414, OpenID Connect Discovery; asked ' +
        `${host(issuing)}: ${SERVER_METADATA}/… answered 404, ${OPENID}/… answered 404, /…${OPENID} answered 404).`,
    )
  })

  test('is reported when it fails or is unreachable', async () => {
    const issuing = await mcpServer()
    const mcp = await mcpServer({ authorizationServers: [issuing.origin] })
    issuing.answer(SERVER_METADATA, { status: 503, body: 'canary' })
    const unread =
      'The metadata of this MCP server’s authorization server (RFC 8414, OpenID Connect Discovery) could not be read'
    expect(await said(mcp.url, McpUnavailableError)).toBe(
      `${unread} (asked ${host(issuing)}: ${SERVER_METADATA} answered 503, ${OPENID} answered 404).`,
    )
    await issuing.close()
    expect(await said(mcp.url, McpUnavailableError)).toBe(`${unread}: ${host(issuing)} refused the connection.`)
  })
})

describe('the MCP server', () => {
  test('is reported when it fails or redirects to a forbidden address', async () => {
    const mcp = await mcpServer()
    const place = `${RESOURCE_METADATA}/mcp`
    const unread = `This MCP server’s protected-resource metadata (RFC 9728) could not be read: ${host(mcp)}`
    mcp.answer(place, { status: 500, body: 'canary' })
    expect(await said(mcp.url, McpUnavailableError)).toBe(`${unread} answered 500.`)
    mcp.answer(place, { status: 302, headers: { location: 'https://10.0.0.1/canary' } })
    expect(await said(mcp.url, McpUnavailableError)).toBe(
      `${unread} redirects to a forbidden address: it is at a private address (10.0.0.1); see OUTBOUND_ALLOW.`,
    )
    const gone = await mcpServer()
    await gone.close()
    mcp.answer(place, { status: 302, headers: { location: `${gone.origin}/canary` } })
    expect(await said(mcp.url, McpUnavailableError)).toBe(
      `${unread} redirects to ${host(gone)}, which refused the connection.`,
    )
  })

  test('is reported when it cuts every connection', async () => {
    const cutting = createServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
    cutting.listen(0, '127.0.0.1')
    await once(cutting, 'listening')
    const at = `127.0.0.1:${(cutting.address() as AddressInfo).port}`
    expect(await said(`http://${at}/mcp`, McpUnavailableError)).toBe(
      'This MCP server’s protected-resource metadata (RFC 9728) could not be read: ' +
        `${at} cut the connection before its answer was complete.`,
    )
    cutting.close()
    await once(cutting, 'close')
  })

  test('is reported when the time is over', async () => {
    const mcp = await mcpServer()
    mcp.answer(`${RESOURCE_METADATA}/mcp`, { hang: true })
    expect(await said(mcp.url, McpUnavailableError, { timeoutMs: 400 })).toContain(
      `(RFC 9728) could not be read: ${host(mcp)} did not answer in time (all calls together have 0.4 s).`,
    )
  })
})

describe('a host name', () => {
  const failing = (code: string): ResolveHost => {
    return (_name, _options, done) => done(Object.assign(new Error('canary'), { code }), [])
  }
  const leadingTo = (address: string): ResolveHost => {
    return (_name, _options, done) => done(null, [{ address, family: 4 } satisfies LookupAddress])
  }
  const URL_OF_MCP = 'https://mcp.example.com/mcp'

  test('that is unknown or has a private address is the caller’s error', async () => {
    expect(await said(URL_OF_MCP, McpDiscoveryError, { resolve: failing('ENOTFOUND') })).toBe(
      'This MCP server has a host name that is not known.',
    )
    // the message does not show the address
    expect(await said(URL_OF_MCP, McpDiscoveryError, { resolve: leadingTo('10.11.12.13') })).toBe(
      'This MCP server has a host name that leads to a private address; see OUTBOUND_ALLOW.',
    )
  })

  test('that can’t be resolved now is a temporary error', async () => {
    expect(await said(URL_OF_MCP, McpUnavailableError, { resolve: failing('EAI_AGAIN') })).toBe(
      'This MCP server could not be asked: mcp.example.com has a host name that cannot be resolved now.',
    )
  })

  test('that the MCP server supplied is not the caller’s error', async () => {
    const resolve = failing('ENOTFOUND')
    const mcp = await mcpServer({ authorizationServers: ['https://as.example.com'] })
    expect(await said(mcp.url, McpUnavailableError, { resolve })).toContain(
      'authorization server (RFC 8414, OpenID Connect Discovery) could not be read: as.example.com has a host name',
    )
    mcp.answer(`${RESOURCE_METADATA}/mcp`, { status: 302, headers: { location: 'https://there.example.com/' } })
    expect(await said(mcp.url, McpUnavailableError, { resolve })).toContain(
      `${host(mcp)} redirects to there.example.com, which has a host name that is not known.`,
    )
  })
})
