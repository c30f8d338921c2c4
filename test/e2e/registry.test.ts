/**
 * The real registry of distribution, configured to trust our tokens: an image is pushed to a deployment's repository
 * with its push token, as container engines do, and every other access is refused.
 */
import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSourceAccess } from '../../src/app/source-access.ts'
import { type RegistrySettings, registrySettings } from '../registry/support.ts'
import { type RestApp, restApp } from '../rest/support.ts'
import { type DockerRegistry, dockerRegistry, dockerRegistryIsInstalled } from '../support/engine/docker-registry.ts'

const installed = (program: string) => spawnSync(program, ['--version']).status === 0
const TYPE = 'application/vnd.oci.image.manifest.v1+json'

const digestOf = (bytes: string) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const CONFIG = JSON.stringify({ architecture: 'amd64', os: 'linux', rootfs: { type: 'layers', diff_ids: [] } })
const MANIFEST = JSON.stringify({
  schemaVersion: 2,
  mediaType: TYPE,
  config: {
    mediaType: 'application/vnd.oci.image.config.v1+json',
    digest: digestOf(CONFIG),
    size: Buffer.byteLength(CONFIG),
  },
  layers: [],
})

describe.skipIf(!dockerRegistryIsInstalled())('a registry that trusts our tokens', () => {
  let root: string
  let settings: RegistrySettings
  let app: RestApp
  let registry: DockerRegistry
  let address: string
  let deploymentId: string
  let repository: string
  let pushToken: string

  beforeAll(async () => {
    root = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-registry-'))
    registry = await dockerRegistry(root)
    address = `http://${registry.host}`
    settings = registrySettings(address)
    const { folder, ...named } = settings
    app = await restApp({ settings: named })
    const token = {
      realm: `${app.url}/v1/registry/token`,
      service: registry.host,
      issuer: 'pilothouse',
      rootcertbundle: settings.REGISTRY_TOKEN_CERTIFICATE,
    }
    await registry.start({ token })
    deploymentId = (await app.create()).id
    const { body } = await app.call('POST', `/v2/deployments/${deploymentId}/push-token`)
    pushToken = body.token
    repository = body.registry_url.replace(/^[^/]+\//, '')
  })
  afterAll(async () => {
    await app?.close()
    registry?.close()
    for (const folder of [settings.folder, root]) rmSync(folder, { recursive: true, force: true })
  })

  /** Like an engine: requests, gets a token where the challenge says, and requests again. */
  async function request(method: string, target: string, password: string, body?: string, type?: string) {
    const url = new URL(target, address)
    const headers = { accept: TYPE, ...(type ? { 'content-type': type } : {}) }
    const refused = await fetch(url, { method, headers, body })
    expect(refused.status).toBe(401)
    const challenge = Object.fromEntries(
      [...refused.headers.get('www-authenticate')!.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [
        name,
        value,
      ]),
    )
    const realm = new URL(challenge.realm!)
    realm.searchParams.set('service', challenge.service!)
    if (challenge.scope) realm.searchParams.append('scope', challenge.scope)
    const basic = Buffer.from(`token:${password}`).toString('base64')
    const answer = await fetch(realm, { headers: { authorization: `Basic ${basic}` } })
    if (!answer.ok) return answer
    const { token } = (await answer.json()) as { token: string }
    return fetch(url, { method, body, headers: { ...headers, authorization: `Bearer ${token}` } })
  }

  async function push(name: string, password: string): Promise<number> {
    const begun = await request('POST', `/v2/${name}/blobs/uploads/`, password)
    if (begun.status !== 202) return begun.status
    const upload = new URL(begun.headers.get('location')!, address)
    upload.searchParams.set('digest', digestOf(CONFIG))
    const uploaded = await request('PUT', upload.href, password, CONFIG, 'application/octet-stream')
    if (uploaded.status !== 201) return uploaded.status
    return (await request('PUT', `/v2/${name}/manifests/1`, password, MANIFEST, TYPE)).status
  }

  test('takes an image with the deployment’s push token, and serves it to a pull for the deployment', async () => {
    expect((await request('GET', '/v2/', pushToken)).status).toBe(200)
    expect(await push(repository, pushToken)).toBe(201)
    const image = `${new URL(address).host}/${repository}:1`
    const access = createSourceAccess(app.core)
    const pull = (await access.imageCredentials(deploymentId, image, new AbortController().signal))!
    const pulled = await request('GET', `/v2/${repository}/manifests/1`, pull.password)
    expect(await pulled.text()).toBe(MANIFEST)
    expect(await push(repository, pull.password)).toBe(401)
  })

  test('takes an image below the deployment’s repository, and serves it to a pull for the deployment', async () => {
    const name = `${repository}/agent`
    expect(await push(name, pushToken)).toBe(201)
    const image = `${new URL(address).host}/${name}:1`
    const pull = await createSourceAccess(app.core).imageCredentials(deploymentId, image, new AbortController().signal)
    expect(await (await request('GET', `/v2/${name}/manifests/1`, pull!.password)).text()).toBe(MANIFEST)
    expect(await push(`${repository}-x`, pushToken)).toBe(401)
  })

  test('refuses pushes to another repository, and pushes without a token', async () => {
    const other = await app.create()
    expect(await push(`${app.tenant.workspaceId}/${other.id}`, pushToken)).toBe(401)
    expect(await push('library/agent', pushToken)).toBe(401)
    expect(await push(repository, app.keys.admin)).toBe(401)
  })

  test.skipIf(!installed('works with a container engine’s own client'))(
    'works with a container engine’s own client',
    async () => {
      const { folder } = settings
      const layout = path.join(folder, 'layout')
      mkdirSync(path.join(layout, 'blobs/sha256'), { recursive: true })
      const blob = (bytes: string) =>
        writeFileSync(path.join(layout, 'blobs', digestOf(bytes).replace(':', path.sep)), bytes)
      for (const bytes of [CONFIG, MANIFEST]) blob(bytes)
      writeFileSync(path.join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
      const manifest = { mediaType: TYPE, digest: digestOf(MANIFEST), size: Buffer.byteLength(MANIFEST) }
      writeFileSync(path.join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [manifest] }))
      const auths = { [new URL(address).host]: { auth: Buffer.from(`token:${pushToken}`).toString('base64') } }
      const authfile = path.join(folder, 'auth.json')
      writeFileSync(authfile, JSON.stringify({ auths }))
      const copy = (to: string) =>
        promisify(execFile)('skopeo', [
          '--insecure-policy',
          'copy',
          '--dest-tls-verify=false',
          `--authfile=${authfile}`,
          `oci:${layout}`,
          `docker://${new URL(address).host}/${to}`,
        ])
      await copy(`${repository}:by-skopeo`)
      const found = await request('GET', `/v2/${repository}/tags/list`, pushToken)
      expect(await found.json()).toMatchObject({ tags: expect.arrayContaining(['by-skopeo']) })
      await expect(copy('library/agent:1')).rejects.toThrow(/denied|unauthorized/)
    },
  )
})
