/** The cost of an agent's access token among thousands, and the waiting time of 100 callers of an expired one. */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { App } from '../../../src/app/app.ts'
import { issueKey } from '../../../src/domain/keys/key.ts'
import { sealToken } from '../../../src/domain/oauth/tokens/token.ts'
import { transaction } from '../../../src/domain/transaction/context.ts'
import { withApp } from './own-app.ts'
import { caller, say, time } from './support.ts'

const TOKENS = 10_000
const CONCURRENT_AGENTS = 100
const AGENT = 'agent-1'

export const accessTokens = (): Promise<void> => withApp(measure, { OUTBOUND_ALLOW: '127.0.0.1' })

async function measure(app: App): Promise<void> {
  let refreshes = 0
  const provider = createServer((_request, response) => {
    refreshes++
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ access_token: 'new', token_type: 'bearer', expires_in: 3600, refresh_token: 'next' }))
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  try {
    const ask = await seed(app, `http://127.0.0.1:${(provider.address() as AddressInfo).port}`)
    await time(`REST: an agent gets its access token, ${TOKENS} tokens in all`, 200, ask)
    const all = () => Promise.all(Array.from({ length: CONCURRENT_AGENTS }, ask))
    let began = performance.now()
    await all()
    say(`${CONCURRENT_AGENTS} agents ask at once, all of them`, `${Math.round(performance.now() - began)}`)
    await app.core.db.$executeRaw`
      UPDATE oauth_tokens SET expires_at = now() FROM agent_connections c WHERE c.token_id = oauth_tokens.id AND c.agent_id = ${AGENT}`
    began = performance.now()
    await all()
    const took = Math.round(performance.now() - began)
    say(`${CONCURRENT_AGENTS} agents ask for one that has expired, all of them`, `${took}, refreshes: ${refreshes}`)
  } finally {
    provider.close()
  }
}

/** Inserts the rows directly. Returns the agent's call. */
async function seed({ core, publicUrl }: App, url: string): Promise<() => Promise<unknown>> {
  const { id: workspaceId, organizationId } = await core.db.workspace.findFirstOrThrow()
  const { id: oauthProviderId } = await core.db.oAuthProvider.create({
    data: {
      organizationId,
      providerId: 'bench',
      name: 'Bench',
      clientId: 'bench',
      tokenEndpointAuthMethod: 'none',
      authUrl: `${url}/authorize`,
      tokenUrl: `${url}/token`,
    },
  })
  const tokens = Array.from({ length: TOKENS }, (_, n) => {
    const id = randomUUID()
    return {
      id,
      workspaceId,
      oauthProviderId,
      subject: `person-${n}`,
      scopes: ['read'],
      sealed: sealToken(core.keyring, id, { accessToken: 'old', tokenType: 'bearer', refreshToken: `refresh-${n}` }),
      refreshable: true,
      tokenUrl: `${url}/token`,
      expiresAt: new Date(Date.now() + 3_600_000),
    }
  })
  for (let at = 0; at < TOKENS; at += 1000) await core.db.oAuthToken.createMany({ data: tokens.slice(at, at + 1000) })
  await core.db.agentConnection.createMany({
    data: tokens.map(({ id }, n) => ({ workspaceId, agentId: `agent-${n}`, tokenId: id, createdBy: 'bench' })),
  })
  await core.db.$executeRaw`ANALYZE`
  const how = {
    organizationId,
    workspaceId,
    name: 'bench agent',
    role: 'agent',
    agentId: AGENT,
    createdBy: null,
  } as const
  const { text } = await transaction(core, (tx) => issueKey(tx, how))
  const call = caller(publicUrl, text)
  return () => call('POST', `/v2/auth/agents/${AGENT}/providers/bench/access-token`, { scopes: ['read'] })
}
