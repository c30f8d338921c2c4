/** Addresses for uploads and tokens for pushes: who gets one, and for which deployments (docs/sources.md). */
import { rmSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { decodeJwt } from 'jose'
import { afterAll, describe, expect, test } from 'vitest'
import { registrySettings } from '../registry/support.ts'
import { bodies, useRestApp } from '../rest/support.ts'
import { type How, overBoth } from './api.ts'

const HOST = 'registry.example.com:5000'
const { folder, ...settings } = registrySettings(`https://${HOST}`)
const app = useRestApp(() => ({ settings }))
afterAll(() => rmSync(folder, { recursive: true }))

overBoth(app, (api) => {
  test('an address accepts the upload of a tarball for the returned path', async () => {
    const { id: deployment_id } = await app.create(bodies.internal_source())
    const { upload_url, object_path } = await api.get('createUploadUrl', { deployment_id })
    const response = await fetch(upload_url, { method: 'PUT', body: gzipSync('as good as a tarball') })
    expect(await response.json()).toMatchObject({ object_path })
  })

  test('a push token allows to push to the deployment’s repository', async () => {
    const { id: deployment_id } = await app.create()
    const { token, registry_url } = await api.get('createPushToken', { deployment_id }, { key: app.keys.deployer })
    const name = `${app.tenant.workspaceId}/${deployment_id}`
    expect(registry_url).toBe(`${HOST}/${name}`)
    expect(decodeJwt(token).access).toEqual([{ type: 'repository', name, actions: ['pull', 'push'] }])
  })

  describe.each([
    ['createUploadUrl', 'internal_source', 'internal_container'],
    ['createPushToken', 'internal_container', 'external_container'],
  ] as const)('%s', (verb, source, another) => {
    const make = async (of: typeof source | typeof another) => (await app.create(bodies[of]())).id as string
    const refused = (deployment_id: string, how?: How) => api.call(verb, { deployment_id }, how)

    test('is for deployers of the tenant', async () => {
      const id = await make(source)
      expect((await refused(id, { key: app.keys.deployer })).ok).toBe(true)
      for (const [key, code] of [
        [app.keys.viewer, 'FORBIDDEN'],
        [null, 'UNAUTHENTICATED'],
        [app.sibling.keys.admin, 'NOT_FOUND'],
        [app.other.keys.admin, 'NOT_FOUND'],
      ] as const)
        expect((await refused(id, { key })).code).toBe(code)
      await api.refuses(verb, { deployment_id: 'no-uuid' }, ['deployment_id uuid_parsing'])
    })

    test('is refused for other sources, and for a deployment that is being deleted', async () => {
      const message = expect.stringContaining(another)
      expect(await refused(await make(another))).toMatchObject({ code: 'CONFLICT', message })
      const deleted = await make(source)
      await app.core.db.deployment.update({ where: { id: deleted }, data: { deletedAt: new Date() } })
      const deletion = { code: 'CONFLICT', message: expect.stringContaining('is being deleted') }
      expect(await refused(deleted)).toMatchObject(deletion)
    })
  })
})
