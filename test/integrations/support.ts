/** A server with a stand-in for the git provider, and a person who installs the app there. */
import { expect } from 'vitest'
import { type RestApp, restApp } from '../rest/support.ts'
import type { Answer } from '../support/app.ts'
import { type FakeGitProvider, type FakeInstallation, openGitProvider } from '../support/gitprovider/open.ts'

export interface InstallApp extends RestApp {
  provider: FakeGitProvider
  /** Starts an installation and returns the state. */
  begin(key?: string): Promise<string>
  /** Opens the callback and returns the page. */
  openCallback(query: Record<string, string>): Promise<Answer>
  /** Starts and finishes an installation. Returns the integration's id. */
  connect(installed: FakeInstallation, key?: string): Promise<string>
}

/** `oauth`: with an OAuth client, so the person must prove their identity. */
export async function installApp({ oauth }: { oauth: boolean }): Promise<InstallApp> {
  const provider = await openGitProvider()
  const { GITPROVIDER_CLIENT_ID: id, GITPROVIDER_CLIENT_SECRET: secret, ...bare } = provider.settings
  const settings = oauth ? { ...bare, GITPROVIDER_CLIENT_ID: id, GITPROVIDER_CLIENT_SECRET: secret } : bare
  const app = await restApp({ settings })
  const begin: InstallApp['begin'] = async (key) => {
    const { status, body, text } = await app.call('POST', '/v1/integrations/gitprovider/install', { key })
    expect(status, text).toBe(201)
    const url = new URL(body.install_url)
    expect(`${url.origin}${url.pathname}`).toContain(provider.slug)
    return url.searchParams.get('state')!
  }
  const comeBack: InstallApp['openCallback'] = (query) =>
    app.rest('GET', `/v1/integrations/gitprovider/setup?${new URLSearchParams(query)}`, { key: null })
  return {
    ...app,
    provider,
    begin,
    openCallback: comeBack,
    async connect(installed, key) {
      const state = await begin(key)
      const code: Record<string, string> = oauth ? { code: provider.code(installed.users[0]!) } : {}
      const answer = await comeBack({ state, installation_id: String(installed.id), setup_action: 'install', ...code })
      expect(answer.status, answer.text).toBe(200)
      const { body } = await app.call('GET', '/v1/integrations/gitprovider/install', { key })
      return body.find((one: { installation_id: string }) => one.installation_id === String(installed.id)).id
    },
    async close() {
      await app.close()
      await provider.close()
    },
  }
}
