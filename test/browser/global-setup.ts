/** Starts the server of the browser tests before them, and removes everything after them. */
import type { TestProject } from 'vitest/node'
import { type OAuthServer, startOAuthServer } from '../support/oauth-server.ts'
import { type Scene, setScene } from './scene.ts'
import { ownServer } from './server.ts'
import { openControl } from './shared.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * The server's address, an admin's key of the workspace and one of the organization, and the content of the
     * workspace.
     */
    server: { url: string; key: string; wideKey: string; workspaceId: string } & Omit<Scene, 'cluster'>
    /** The channel through which a test controls that server (shared.ts). */
    control: string
    /**
     * A provider where `alice` signs in and consents immediately: the organization's login, where she is a deployer,
     * and a provider of accounts for agents.
     */
    provider: Pick<OAuthServer, 'url' | 'authUrl' | 'tokenUrl'> & {
      providerId: string
      clientId: string
      clientSecret: string
    }
  }
}

/** For the provider of accounts, which a test creates. */
const PROVIDER_ID = 'acme'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // the provider needs the claims at its start
  const people: Record<string, Record<string, unknown>> = { alice: { org: null, workspace: null, role: null } }
  const provider = await startOAuthServer({ claims: people })
  const clientOf = async (redirectUri: string) => {
    const client = await provider.client({ method: 'client_secret_basic', redirectUri, requirePkce: true })
    return { clientId: client.clientId, clientSecret: client.clientSecret! }
  }
  const server = await ownServer(async (url) => {
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
