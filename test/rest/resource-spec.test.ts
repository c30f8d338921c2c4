/** ResourceSpec over REST: a whole one, and its class. test/domain has the rules of each field. */
import { describe, expect, test } from 'vitest'
import { listenerKey, listener as makeListener } from '../support/factories.ts'
import { bodies, restApp, useRestApp, violations } from './support.ts'

const app = useRestApp()

const post = (resource_spec: unknown) =>
  app.call('POST', '/v2/deployments', { body: { ...bodies.internal_container(), source_config: { resource_spec } } })
const at = (field: string) => `body.source_config.resource_spec.${field}`

test('a full spec is returned unchanged', async () => {
  const mount = { name: 'data', mountPath: '/data', subPath: 'a', mountPropagation: 'None', readOnly: true }
  const container = {
    name: 'helper',
    image: 'busybox',
    imagePullPolicy: 'Always',
    workingDir: '/',
    restartPolicy: 'Always',
    command: ['sh'],
    args: ['-c', 'true'],
    env: [
      { name: 'A', value: 'b' },
      { name: 'C', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ],
    envFrom: [{ configMapRef: { name: 'config' } }],
    resources: { limits: { cpu: '1' }, requests: { cpu: '500m' } },
    volumeMounts: [{ name: 'data', mountPath: '/x', subPathExpr: '$(A)' }],
    securityContext: { runAsNonRoot: true },
  }
  const spec = {
    min_scale: 1,
    max_scale: 2,
    cpu: 1,
    cpu_limit: 2,
    memory_mb: 512,
    memory_limit_mb: 1024,
    labels: { team: 'a' },
    annotations: { note: 'b' },
    ingress_annotations: { 'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600' },
    autoscaler: 'none',
    termination_grace_seconds: 900,
    service_account_name: 'agent',
    image_pull_secrets: [{ name: 'registry' }],
    volumes: [
      { name: 'data', emptyDir: {} },
      { name: 'files', configMap: { name: 'files' } },
    ],
    volume_mounts: [mount],
    init_containers: [container],
    sidecars: [container],
  }
  expect((await post(spec)).body.source_config.resource_spec).toEqual(spec)
})

describe('class', () => {
  /** A listener whose program has reported these classes. */
  async function reporting(classes: string[], tenant = app.tenant) {
    const row = await makeListener(app, { workspaceId: tenant.workspaceId })
    const key = await listenerKey(app, row, tenant)
    const answer = await app.call('POST', `/v2/listeners/${row.id}/claims`, { key, body: { pod_classes: classes } })
    expect(answer.status, answer.text).toBe(200)
    return row.id
  }
  const on = (listener_id: string, spec: object) =>
    app.call('POST', '/v2/deployments', {
      body: { ...bodies.external_container(), source_config: { listener_id, resource_spec: spec } },
    })
  const said = ({ status, body }: Awaited<ReturnType<typeof on>>) => {
    expect(status).toBe(422)
    expect(body.detail).toHaveLength(1)
    expect(body.detail[0].loc.join('.')).toBe(at('class'))
    return body.detail[0].msg
  }

  test('must be one that its listener has reported, at a create and at a PATCH; the refusal lists them', async () => {
    const listener = await reporting(['cpu', 'gpu'])
    expect((await app.call('GET', `/v2/listeners/${listener}`)).body.pod_classes).toEqual(['cpu', 'gpu'])
    const unknown = 'Must be one of POD_CLASSES of its listener: cpu, gpu.'
    expect(said(await on(listener, { class: 'tpu' }))).toBe(unknown)
    const made = await on(listener, { class: 'gpu' })
    expect(made.status, made.text).toBe(201)
    expect(made.body.source_config.resource_spec).toEqual({ class: 'gpu' })
    const patch = (spec: object) =>
      app.call('PATCH', `/v2/deployments/${made.body.id}`, { body: { source_config: { resource_spec: spec } } })
    expect(said(await patch({ class: 'tpu' }))).toBe(unknown)
    expect((await patch({ class: 'cpu' })).body.source_config.resource_spec).toEqual({ class: 'cpu' })
    expect((await patch({})).status).toBe(200)
  })

  test('can’t be one that only other listeners have', async () => {
    await reporting(['gpu'])
    await reporting(['gpu'], app.sibling)
    const none = 'Must be one of POD_CLASSES of its listener: there are none.'
    expect(said(await on(await reporting([]), { class: 'gpu' }))).toBe(none)
  })

  test('is one of the server that works on a cluster itself, and none on the process runtime', async () => {
    expect(said(await post({ class: 'gpu' }))).toBe(
      'Only deployments on Kubernetes have classes; RUNTIME of this server is process.',
    )
    const settings = { RUNTIME: 'kubernetes', K8S_NAMESPACE: 'agents', POD_CLASSES: '{"gpu": {}}' }
    const cluster = await restApp({ beside: app, settings })
    const create = (name: string) =>
      cluster.call('POST', '/v2/deployments', {
        body: { ...bodies.internal_container(), source_config: { resource_spec: { class: name } } },
      })
    expect((await create('gpu')).status).toBe(201)
    expect(said(await create('tpu'))).toBe('Must be one of POD_CLASSES of this server: gpu.')
    await cluster.close()
  })

  test('has 1 to 63 characters', async () => {
    expect(violations(await post({ class: '' }))).toEqual([`${at('class')} string_too_short`])
    expect(violations(await post({ class: 'c'.repeat(64) }))).toEqual([`${at('class')} string_too_long`])
  })
})
