/** Before all tests: the server whose pages they open. After all: nothing of it is left. */
import type { TestProject } from 'vitest/node'
import { type OAuthServer, startOAuthServer } from '../support/oauth-server.ts'
import { type Scene, setScene } from './scene.ts'
import { ownServer } from './server.ts'
import { openControl } from './shared.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** where the server is, an admin's key (one of the workspace, one of the whole organization), and what is in the workspace */
    server: { url: string; key: string; wideKey: string; workspaceId: string } & Omit<Scene, 'cluster'>
    /** through which a test commands that server (shared.ts) */
    control: string
    /** a provider where `alice` signs in and consents at once: the login of the organization, where she is a deployer, and with a client for accounts that agents use */
    provider: Pick<OAuthServer, 'url' | 'authUrl' | 'tokenUrl'> & {
      providerId: string
      clientId: string
      clientSecret: string
    }
  }
}

/** Of the provider of accounts, which a test makes. */
const PROVIDER_ID = 'acme'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // the provider wants to know at once what it will claim
  const people: Record<string, Record<string, unknown>> = { alice: { org: null, workspace: null, role: null } }
  const provider = await startOAuthServer({ claims: people })
  const clientOf = async (redirectUri: string) => {
    const client = await provider.client({ method: 'client_secret_basic', redirectUri, requirePkce: true })
    return { clientId: client.clientId, clientSecret: client.clientSecret! }
  }
  const server = await ownServer('21100-21149', async (url) => {
    const { clientId, clientSecret } = await clientOf(`${url}/v2/sessions/oidc/callback`)
    return {
      OIDC_ISSUER: provider.url,
      OIDC_CLIENT_ID: clientId,
      OIDC_CLIENT_SECRET: clientSecret,
      OIDC_NAME: 'Acme',
      OUTBOUND_ALLOW: '127.0.0.1',
    }
  })
  const control = await openControl(server)
  project.provide('control', control.url)
  const close = async () => {
    control.close()
    await server.close()
    await provider.close()
  }
  try {
    const { url, key, workspaceId, organizationId } = server
    people.alice = { org: organizationId, workspace: workspaceId, role: 'deployer' }
    const [{ cluster: _, ...scene }, wideKey] = await Promise.all([
      setScene(server),
      server.newKey('admin', 'organization', '--organization'),
    ])
    project.provide('server', { url, key, wideKey, workspaceId, ...scene })
    const client = await clientOf(`${url}/v2/auth/callback/${PROVIDER_ID}`)
    const { authUrl, tokenUrl } = provider
    project.provide('provider', { url: provider.url, authUrl, tokenUrl, providerId: PROVIDER_ID, ...client })
  } catch (error) {
    await close()
    throw error
  }
  return close
}
