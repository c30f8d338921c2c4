/** Exact numbers of statements for OAuth providers, and where their secret is read. */
import { expect, test } from 'vitest'
import {
  describeMissingSecret,
  getProvider,
  listProviders,
  openProviderAccess,
  providers,
} from '../../src/domain/oauth/provider-access.ts'
import { createProvider, deleteProvider, updateProvider } from '../../src/domain/oauth/providers/manage.ts'
import { listConnections } from '../../src/domain/oauth/tokens/connections.ts'
import { listTokens } from '../../src/domain/oauth/tokens/token.ts'
import { countStatements } from '../support/database.ts'
import { useDomain } from '../support/domain.ts'

const domain = useDomain()

const body = {
  provider_id: 'example',
  name: 'Example',
  client_id: 'our-client',
  client_secret: 's3cret',
  auth_url: 'https://accounts.example.com/authorize',
  token_url: 'https://accounts.example.com/token',
}
const path = { provider_id: 'example' }

test('a read is one statement without the secret, and a write needs few', async () => {
  const ctx = await domain.tenant()
  const sent = (work: () => Promise<unknown>) => countStatements(domain.database, work)
  const create = await sent(() => createProvider(ctx, { body }))
  const get = await sent(() => getProvider(ctx, { path }))
  const list = await sent(() => listProviders(ctx, {}))
  const patch = await sent(() => updateProvider(ctx, { path, body: { name: 'Another' } }))
  const remove = await sent(() => deleteProvider(ctx, { path }))
  const counted = { create, get, list, patch, remove }
  expect(Object.fromEntries(Object.entries(counted).map(([name, { length }]) => [name, length]))).toEqual({
    create: 2,
    get: 1,
    list: 1,
    // one statement finds the other workspaces that use the provider
    patch: 6,
    remove: 7,
  })
  expect([...get, ...list].filter((sql) => sql.includes('client_secret'))).toEqual([])
})

test('a list of tokens or connections is one statement, which does not read the tokens', async () => {
  const ctx = await domain.tenant()
  const agent = { path: { agent_id: 'bot' } }
  for (const list of [() => listTokens(ctx, { query: {} }), () => listConnections(ctx, agent)]) {
    const statements = await countStatements(domain.database, list)
    expect(statements).toHaveLength(1)
    expect(statements[0]).not.toContain('sealed')
  }
})

test('the provider receives the most recent secret', async () => {
  const ctx = await domain.tenant()
  const shown = async () => openProviderAccess(ctx.keyring, await providers.get(ctx, () => 'example')).clientSecret
  await createProvider(ctx, { body })
  expect(await shown()).toBe('s3cret')
  await updateProvider(ctx, { path, body: { client_secret: 'another', token_url: 'https://x.example.com/token' } })
  expect(await shown()).toBe('another')
  await updateProvider(ctx, { path, body: { token_endpoint_auth_method: 'none' } })
  expect(await shown()).toBeNull()
})

test('a provider whose auth method needs a secret reports that it is missing', () => {
  const provider = { providerId: 'example', tokenEndpointAuthMethod: 'client_secret_basic', clientSecret: null }
  expect(describeMissingSecret(provider)).toBe(
    "The OAuth provider 'example' has no client_secret, which its token_endpoint_auth_method client_secret_basic needs. " +
      'PATCH its client_secret, or its token_endpoint_auth_method to none.',
  )
  expect(describeMissingSecret({ ...provider, clientSecret: 'sealed' })).toBeNull()
  expect(describeMissingSecret({ ...provider, tokenEndpointAuthMethod: 'none' })).toBeNull()
})
