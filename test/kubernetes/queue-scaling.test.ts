/** Queues: their probes, scaling by their backlog with KEDA, and stalled ones. */
import { randomInt } from 'node:crypto'
import net from 'node:net'
import type { V1Deployment } from '@kubernetes/client-node'
import { expect, inject, test } from 'vitest'
import { databasePasswordOf } from '../../src/dataplane/kubernetes/render/secrets.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { listenerRules } from '../support/chart.ts'
import { asAdmin, atDatabase, dropDatabase, overTcp } from '../support/database.ts'
import { SCALED_OBJECT_DEFINITION } from '../support/kubernetes/stand-in/custom.ts'
import { options } from './render-support.ts'
import { runOf, serving, useSite, V2 } from './runtime-support.ts'

const site = useSite({}, { relist: 300 })
const standIn = test.skipIf(Boolean(process.env.TEST_KUBECONFIG))
const bounds = { queue_min_scale: 1, queue_max_scale: 3 }
const spec = { ...bounds, queue_scaling: { metric: 'backlog' as const, target: 5 } }

standIn(
  'without KEDA a deploy fails with its name; with it a ScaledObject replaces the autoscaler, its replicas stay, and it is removed',
  async () => {
    const rules = listenerRules({ KEDA_NAMESPACE: 'keda' })
    const kubeconfig = await site.test.limitedKubeconfig({ namespaces: [site.namespace], rules })
    const { runtime } = await site.another({ render: options }, kubeconfig)
    const tenant = await serving({ ...site, runtime })
    const use = (changed: object) => {
      tenant.run = runOf(tenant.run!.revision, { spec: changed })
      tenant.ensure()
    }
    const scaled = () => tenant.object('keda.sh/v1alpha1', 'ScaledObject', tenant.names.queue)
    const byCpu = () => tenant.object('autoscaling/v1', 'HorizontalPodAutoscaler', tenant.names.queue)
    // biome-ignore lint/suspicious/noExplicitAny: fields of any kind
    const queue = async (): Promise<any> => (await tenant.object('apps/v1', 'Deployment', tenant.names.queue))!.spec
    use(bounds)
    await expect.poll(byCpu).not.toBeNull()
    await expect(tenant.prepare(tenant.revision(V2), { spec })).rejects.toMatchObject({
      reason: 'CLUSTER_REFUSED',
      message: expect.stringMatching(/^queue_scaling has the metric backlog, but no ScaledObject .*Install KEDA/),
    })
    expect(await byCpu()).not.toBeNull()
    await site.objects.create(structuredClone(SCALED_OBJECT_DEFINITION))
    use(spec)
    await expect.poll(async () => Boolean(await scaled()) && !(await byCpu())).toBe(true)
    const change = (body: object) =>
      site.objects.patch('apps/v1', 'Deployment', site.namespace, tenant.names.queue, { spec: body })
    await change({ replicas: 3 })
    await change({ paused: true })
    await expect.poll(async () => (await queue()).paused).toBeFalsy()
    expect((await queue()).replicas).toBe(3)
    await tenant.teardown()
    expect(await scaled()).toBeNull()
  },
)

test('a queue is probed at its health path, and no longer when it has none', async () => {
  const tenant = await serving(site)
  const probed = async () => {
    const queue = (await tenant.object('apps/v1', 'Deployment', tenant.names.queue)) as V1Deployment | null
    const { startupProbe, livenessProbe } = queue?.spec?.template.spec?.containers[0] ?? {}
    return [startupProbe?.httpGet?.path, livenessProbe?.httpGet?.path]
  }
  for (const path of ['/ok?check_db=0', undefined]) {
    tenant.run = runOf(tenant.run!.revision, { spec: { ...bounds, queue_health_path: path } })
    tenant.ensure()
    await expect.poll(probed).toEqual([path, path])
  }
})

/** The Postgres of the tests, with a database and a role like those of a deployment, at an address of a Service. */
async function databaseAt(password: string): Promise<{ url: string; clusterIP: string; close(): Promise<void> }> {
  const clusterIP = `127.${randomInt(1, 255)}.${randomInt(255)}.1`
  const { url } = inject('postgres')
  const { hostname, port } = new URL(overTcp(url))
  const service = net.createServer((from) => {
    const to = net.connect(Number(port), hostname)
    from.on('error', () => to.destroy()).pipe(to)
    to.on('error', () => from.destroy()).pipe(from)
  })
  await new Promise<void>((resolve) => service.listen(5432, clusterIP, resolve))
  await asAdmin(url, async (admin) => {
    await admin.query(`CREATE ROLE agent LOGIN PASSWORD '${password}'`)
    await admin.query('CREATE DATABASE agent OWNER agent')
  })
  return {
    url: atDatabase(url, 'agent'),
    clusterIP,
    async close() {
      service.close()
      await asAdmin(url, async (admin) => {
        await dropDatabase(admin, 'agent')
        await admin.query('DROP ROLE agent')
      })
    },
  }
}

standIn('a queue in which runs wait and none is completed is stalled, unless its database is external', async () => {
  const { QUEUE_BACKLOG_QUERY: backlogQuery, QUEUE_PROGRESS_QUERY: progressQuery } = readConfig({})
  const { runtime } = await site.another({ queues: { backlogQuery, progressQuery, stallSeconds: 0.1 } })
  const tenant = await serving({ ...site, runtime })
  const { database: name } = tenant.names
  const secret = await tenant.object('v1', 'Secret', name)
  const database = await databaseAt(databasePasswordOf({ data: secret!.data })!)
  try {
    await site.objects.patch('v1', 'Service', site.namespace, name, { spec: { clusterIP: database.clusterIP } })
    await asAdmin(database.url, async (admin) => {
      await admin.query(
        `CREATE TABLE runs (run_id, status) AS VALUES ('1', 'running'), ('2', 'pending'), ('3', 'pending')`,
      )
      await admin.query('GRANT SELECT ON runs TO agent')
    })
    const measured = async () => [
      (await runtime.measure!())[0]?.measures.queue_backlog,
      runtime.health(tenant.id)?.reason,
    ]
    await expect.poll(measured).toEqual([2, 'QUEUE_STALLED'])
    await asAdmin(database.url, (admin) => admin.query(`UPDATE runs SET status = 'success'`))
    await expect.poll(measured).toEqual([0, null])
    await asAdmin(database.url, (admin) => admin.query(`UPDATE runs SET status = 'pending'`))
    await expect.poll(measured).toEqual([3, 'QUEUE_STALLED'])
    const external = [{ name: 'POSTGRES_URI_CUSTOM', secret_name: name, secret_key: 'DATABASE_URI' }]
    tenant.run = runOf(tenant.run!.revision, { secretReferences: external })
    tenant.ensure()
    await expect.poll(async () => (await measured())[0]).toBeUndefined()
    // a process with a kubeconfig is not in the cluster
    expect(site.cluster.podNamespace).toBeNull()
  } finally {
    await database.close()
  }
})
