/**
 * Where a deployment may run: the listener rows of docs/deployments.md#deployments, and the sources that an
 * installation offers.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Listener } from '../../src/generated/prisma/client.ts'
import { bodies, useRestApp } from '../rest/support.ts'
import { listener } from '../support/factories.ts'
import { overBoth } from './api.ts'

const app = useRestApp()
const cloud = useRestApp(() => ({ settings: { DEPLOYMENT_MODES: 'cloud' } }))
const selfHosted = useRestApp(() => ({ settings: { DEPLOYMENT_MODES: 'self_hosted' } }))
let one: Listener
let two: Listener
beforeAll(async () => {
  one = await listener(app, { k8sNamespaces: ['agents'] })
  two = await listener(app, { k8sNamespaces: ['blue', 'green'] })
})

const LISTENER = 'source_config.listener_id'
const NAMESPACE = 'source_config.listener_config.k8s_namespace'
const on = (listener_id?: string, k8s_namespace?: string) => ({
  ...bodies.external_container(),
  source_config: { listener_id, ...(k8s_namespace && { listener_config: { k8s_namespace } }) },
})

overBoth(app, (api) => {
  test('a listener is required once the workspace has one, and only for external_container', async () => {
    await api.refuses('createDeployment', on(), [`${LISTENER} missing`])
    const internal = { ...bodies.internal_container(), source_config: { listener_id: one.id } }
    await api.refuses('createDeployment', internal, [`${LISTENER} value_error`])
  })

  test('a listener’s only namespace need not be named', async () => {
    const { source_config } = await api.get('createDeployment', on(one.id))
    expect(source_config).toMatchObject({ listener_id: one.id, listener_config: { k8s_namespace: 'agents' } })
  })

  test('one of several namespaces must be named, and it must be the listener’s', async () => {
    const { source_config } = await api.get('createDeployment', on(two.id, 'green'))
    expect(source_config.listener_config).toEqual({ k8s_namespace: 'green' })
    await api.refuses('createDeployment', on(two.id), [`${NAMESPACE} missing`])
    await api.refuses('createDeployment', on(two.id, 'agents'), [`${NAMESPACE} value_error`])
  })

  test('another tenant’s listener is not found', async () => {
    const message = `Listener ID ${one.id} not found.`
    for (const key of [app.sibling.keys.admin, app.other.keys.admin])
      expect((await api.fails('createDeployment', on(one.id), 'NOT_FOUND', { key })).message).toBe(message)
  })

  test('listener and namespace can’t be changed; the stored values pass', async () => {
    const { id: deployment_id, source_config } = await api.get('createDeployment', on(two.id, 'green'))
    const { listener_id, listener_config } = source_config
    await api.get('updateDeployment', { deployment_id, source_config: { listener_id, listener_config } })
    for (const [changed, at] of [
      [{ listener_id: one.id }, LISTENER],
      [{ listener_config: { k8s_namespace: 'blue' } }, NAMESPACE],
    ])
      await api.refuses('updateDeployment', { deployment_id, source_config: changed }, [`${at} value_error`])
  })
})

describe('DEPLOYMENT_MODES', () => {
  overBoth(cloud, (api) => {
    test('cloud does not offer external_container, and says nothing more about its listener', async () => {
      await listener(cloud)
      expect(await api.refuses('createDeployment', on(), ['source value_error'])).toMatchObject({
        message: 'external_container is not offered by this installation (DEPLOYMENT_MODES lacks self_hosted).',
      })
    })
  })
  overBoth(selfHosted, (api) => {
    test('self_hosted does not offer gitprovider', async () => {
      const body = bodies.gitprovider(selfHosted.tenant.integrationId)
      await api.refuses('createDeployment', body, ['source value_error'])
    })
  })
})
