/**
 * Where a deployment may run: the listener rows of docs/deployments.md#deployments, and the sources that an
 * installation offers.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Listener } from '../../src/generated/prisma/client.ts'
import { listener } from '../support/factories.ts'
import { bodies, type RestApp, restApp, violations } from './support.ts'

let app: RestApp
let one: Listener
let two: Listener
beforeAll(async () => {
  app = await restApp()
  one = await listener(app, { k8sNamespaces: ['agents'] })
  two = await listener(app, { k8sNamespaces: ['blue', 'green'] })
})
afterAll(() => app.close())

const post = (source_config: object) =>
  app.call('POST', '/v2/deployments', { body: { ...bodies.external_container(), source_config } })
const on = (id: string, namespace?: string) =>
  post({ listener_id: id, ...(namespace ? { listener_config: { k8s_namespace: namespace } } : {}) })
const NAMESPACE = 'body.source_config.listener_config.k8s_namespace'

test('a listener is required once the workspace has one', async () => {
  expect(violations(await post({}))).toEqual(['body.source_config.listener_id missing'])
})

test('a listener’s only namespace need not be named', async () => {
  const { body } = await on(one.id)
  expect(body.source_config).toMatchObject({ listener_id: one.id, listener_config: { k8s_namespace: 'agents' } })
})

test('one of several namespaces must be named, and it must be the listener’s', async () => {
  expect((await on(two.id, 'green')).body.source_config.listener_config).toEqual({ k8s_namespace: 'green' })
  expect(violations(await on(two.id))).toEqual([`${NAMESPACE} missing`])
  expect(violations(await on(two.id, 'agents'))).toEqual([`${NAMESPACE} value_error`])
})

test('a listener is only for external_container', async () => {
  const body = { ...bodies.internal_container(), source_config: { listener_id: one.id } }
  const answer = await app.call('POST', '/v2/deployments', { body })
  expect(violations(answer)).toEqual(['body.source_config.listener_id value_error'])
})

test('listener and namespace can’t be changed; the stored values pass', async () => {
  const { body } = await on(two.id, 'green')
  const patch = (source_config: object) => app.call('PATCH', `/v2/deployments/${body.id}`, { body: { source_config } })
  expect((await patch(body.source_config)).status).toBe(200)
  expect(violations(await patch({ listener_id: one.id }))).toEqual(['body.source_config.listener_id value_error'])
  expect(violations(await patch({ listener_config: { k8s_namespace: 'blue' } }))).toEqual([`${NAMESPACE} value_error`])
})

test.each([
  ['cloud', 'external_container'],
  ['self_hosted', 'gitprovider'],
] as const)('DEPLOYMENT_MODES=%s does not offer %s', async (mode, source) => {
  const narrow = await restApp({ settings: { DEPLOYMENT_MODES: mode } })
  const body = source === 'gitprovider' ? bodies.gitprovider(narrow.tenant.integrationId) : bodies[source]()
  expect(violations(await narrow.call('POST', '/v2/deployments', { body }))).toEqual(['body.source value_error'])
  await narrow.close()
})

test('a source that is not offered gets no second violation for its listener', async () => {
  const narrow = await restApp({ settings: { DEPLOYMENT_MODES: 'cloud' } })
  await listener(narrow)
  const { body } = await narrow.call('POST', '/v2/deployments', { body: bodies.external_container() })
  expect(body.detail).toEqual([
    {
      loc: ['body', 'source'],
      msg: 'external_container is not offered by this installation (DEPLOYMENT_MODES lacks self_hosted).',
      type: 'value_error',
    },
  ])
  await narrow.close()
})
