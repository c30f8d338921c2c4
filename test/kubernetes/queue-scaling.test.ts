/** queue_scaling by backlog, in clusters with and without KEDA. */
import { expect, test } from 'vitest'
import { listenerRules } from '../support/chart.ts'
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
