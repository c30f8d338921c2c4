/**
 * Checks the README and docs/: tables of settings against the settings, and examples by running them or by comparing
 * them with the code. Blocks marked `sh` are run; other blocks only illustrate.
 */
import { execFile, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { DATA_PLANE_EXAMPLES } from '../src/api/rest/examples/data-plane.ts'
import { BUILDER_SETTINGS } from '../src/platform/config/builder-settings.ts'
import { DOOR_SETTINGS } from '../src/platform/config/door-settings.ts'
import { LISTENER_SETTINGS } from '../src/platform/config/listener-settings.ts'
import { SETTINGS } from '../src/platform/config/settings.ts'
import { LOCAL } from './oauth/support.ts'
import { testApp } from './support/app.ts'
import { type OAuthServer, startOAuthServer } from './support/oauth-server.ts'
import { startHttp } from './support/web-server.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Pages by path: the README and everything in docs/. */
const PAGES = new Map(
  [
    'README.md',
    ...readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
  ]
    .filter((name) => name.endsWith('.md'))
    .map((name) => [name, readFileSync(path.join(ROOT, name), 'utf8')] as const),
)

test.each([
  ['settings', SETTINGS],
  ['listener settings', LISTENER_SETTINGS],
  ['door settings', DOOR_SETTINGS],
  ['builder settings', BUILDER_SETTINGS],
])('all %s are in their table, with their default and what they are for', (marker, settings) => {
  const page = PAGES.get('docs/settings.md')!
  const table = new RegExp(`<!-- ${marker} -->\n(.*?)\n?<!-- /${marker} -->`, 's').exec(page)![1]!.split('\n')
  expect(table.slice(0, 2)).toEqual(['| setting | default | what it is for |', '|---|---|---|'])
  const rows = table.slice(2).map((row) => /^\| `(\w+)` \| (?:`(.+)`)? \| .+ \|$/.exec(row)?.slice(1) ?? row)
  expect(rows).toEqual(Object.entries(settings).map(([name, [, preset]]) => [name, preset]))
})

const SYSTEMD = spawnSync('systemd-analyze', ['--version']).status === 0

test.skipIf(!SYSTEMD)('systemd accepts the unit', () => {
  const unit = path.join(ROOT, 'docs/systemd/pilothouse.service')
  const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
  expect(verified).toMatchObject({ status: 0, stderr: '' })
})

test('the protocol page and the OpenAPI document have the same examples', () => {
  const blocks = [...PAGES.get('docs/protocol.md')!.matchAll(/^```json (\w+)\n(.*?)^```$/gms)]
  expect(Object.fromEntries(blocks.map(([, name, json]) => [name, JSON.parse(json!)]))).toEqual(DATA_PLANE_EXAMPLES)
})

/** Opens the URL that `support/bin/browser` is given, as a person at the OAuth server who signs in and consents. */
async function startBrowser(oauth: OAuthServer) {
  const { origin, close } = await startHttp(async (request, response) => {
    const landed = await oauth.visit(await text(request))
    response.end(await (await fetch(landed)).text())
  })
  return { url: origin, close }
}

test('the examples work unchanged, each of them twice, from an empty folder to a running agent', async () => {
  const settings = { WORKER: 'on', RUNTIME: 'process', APPS_PORT: '0', ...LOCAL }
  const server = await testApp({ settings })
  const oauth = await startOAuthServer()
  const redirectUri = `${server.url}/v2/auth/callback/acme`
  const { clientId, clientSecret } = await oauth.client({ method: 'client_secret_post', redirectUri })
  const browser = await startBrowser(oauth)
  try {
    // a deleted deployment can't be requested again
    const twice = (block: string) => (block.includes('-X DELETE') ? [block] : [block, block])
    const blocks = [...PAGES.values()].flatMap((text) =>
      [...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) => twice(block!)),
    )
    const script = blocks.join('\necho; echo ----\n')
    const { stdout, stderr } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: ROOT,
      env: {
        // an implementation of the needed curl options in Node, because the machine may have no curl
        PATH: `${fileURLToPath(new URL('support/bin', import.meta.url))}:${process.env.PATH}`,
        HOME: process.env.HOME,
        PILOTHOUSE_URL: server.url,
        CONTROL_PLANE_API_KEY: server.keys.admin,
        GIT_DIRECTORY: server.app.config.GIT_DIRECTORY,
        OAUTH_AUTH_URL: oauth.authUrl,
        OAUTH_TOKEN_URL: oauth.tokenUrl,
        OAUTH_CLIENT_ID: clientId,
        OAUTH_CLIENT_SECRET: clientSecret!,
        BROWSER: fileURLToPath(new URL('support/bin/browser', import.meta.url)),
        BROWSER_URL: browser.url,
      },
    })
    // the rollback is watched; the change is waited for
    expect(stdout.match(/"to":"DEPLOYED"/g)?.length).toBeGreaterThanOrEqual(2)
    expect(stdout.match(/^my-agent-\d+: revision 1 \(.*\) deployed$/gm)).toHaveLength(2)
    expect(stdout).toMatch(/^my-agent-\d+: revision 3 \(.*\) deployed$/m)
    expect(stdout.match(/^exit code 1$/gm)).toHaveLength(2)
    expect(stderr).toContain('build failed: The source has no file "not-there.json"')
    expect(stdout).toContain('"statusMessage":"The source has no file \\"not-there.json\\"')
    expect(stdout).toContain('Hello from version 1')
    expect(stdout).toContain('RedeployRevisionSuccess')
    expect(stdout).toContain('"status":"completed"')
    expect(stdout).toContain('"access_token":"')
    // the provider that already exists
    expect(stdout.match(/"detail".*/g)).toEqual([expect.stringContaining('"code":"ALREADY_EXISTS"')])
    expect(stdout.match(/.*"errors".*/g)).toBeNull()
  } finally {
    await Promise.all([browser.close(), server.close(), oauth.close()])
  }
}, 180_000)
