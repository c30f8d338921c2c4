/** Restarts in a cluster: like `kubectl rollout restart`, but with an annotation of Pilothouse, and each one once. */

import type { V1PodTemplateSpec } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { serving, type Tenant, useSite, V2 } from './runtime-support.ts'

const site = useSite()

const [FIRST, SECOND] = ['2026-11-24T18:00:00.001Z', '2026-11-24T18:00:00.002Z']
const ANNOTATION = 'pilothouse.dev/restarted-at'

function restart(tenant: Tenant, restartedAt: string): void {
  tenant.run = { ...tenant.run!, restartedAt }
  tenant.ensure()
}
const health = (tenant: Tenant) => tenant.runtime.health(tenant.id)
const done = (tenant: Tenant, restartedAt: string) =>
  expect.poll(() => health(tenant)?.restartedAt, { timeout: 20_000 }).toBe(restartedAt)
const template = async (tenant: Tenant): Promise<V1PodTemplateSpec> => (await tenant.server()).spec.template

/** Without the annotation of the restart and the hash of the template. */
function others({ metadata, spec }: V1PodTemplateSpec) {
  const { [ANNOTATION]: _, 'pilothouse.dev/template': __, ...annotations } = metadata!.annotations!
  return { metadata: { ...metadata, annotations }, spec }
}

test('a restart replaces all pods, and changes only its annotation', async () => {
  const tenant = await serving(site, { spec: { queue_min_scale: 1, queue_max_scale: 1 } })
  const [before, pods, queue] = [await tenant.server(), await tenant.uids(), await tenant.uids('queue')]
  const database = await tenant.uids('database')
  expect(before.spec.template.metadata.annotations).not.toHaveProperty(ANNOTATION)
  restart(tenant, FIRST)
  expect(health(tenant)).not.toHaveProperty('restartedAt')
  await done(tenant, FIRST)
  const after = await tenant.server()
  expect(after.spec.template.metadata.annotations[ANNOTATION]).toBe(FIRST)
  expect(others(after.spec.template)).toEqual(others(before.spec.template))
  expect({ ...after.spec, template: null }).toEqual({ ...before.spec, template: null })
  const replaced = [...(await tenant.uids()), ...(await tenant.uids('queue'))]
  expect(replaced).toHaveLength(2)
  expect(replaced.filter((uid) => pods.includes(uid) || queue.includes(uid))).toEqual([])
  expect(await tenant.uids('database')).toEqual(database)
})

test('the next holder restarts nothing again, and a later restart replaces the pods again', async () => {
  const tenant = await serving(site)
  restart(tenant, FIRST)
  await done(tenant, FIRST)
  const first = await tenant.uids()
  const { runtime } = await site.another()
  const other = tenant.takenOver(runtime, '2')
  other.ensure()
  await done(other, FIRST)
  expect(await other.uids()).toEqual(first)
  restart(other, SECOND)
  await done(other, SECOND)
  expect((await other.uids()).some((uid) => first.includes(uid))).toBe(false)
})

test('a deploy starts new pods anyway, so it has no annotation', async () => {
  const tenant = await serving(site)
  restart(tenant, FIRST)
  await done(tenant, FIRST)
  await tenant.deploy(tenant.revision(V2))
  expect((await template(tenant)).metadata!.annotations).not.toHaveProperty(ANNOTATION)
  expect(health(tenant)).not.toHaveProperty('restartedAt')
})

test('a failed deploy restores the restarted revision without another restart', async () => {
  const tenant = await serving(site)
  restart(tenant, FIRST)
  await done(tenant, FIRST)
  const restored = (await template(tenant)).metadata!.annotations
  const candidate = await tenant.prepare(tenant.revision(V2))
  await candidate.discard()
  tenant.ensure()
  await done(tenant, FIRST)
  expect((await template(tenant)).metadata!.annotations).toEqual(restored)
})

test.skipIf(Boolean(process.env.TEST_KUBECONFIG))(
  'restarts and evictions are reported with their cause, and another holder reports the same ids',
  async () => {
    const secrets = [{ name: 'KEY', value: 'the secret' }]
    const tenant = await serving(site, {}, { secrets })
    const { namespace, test: cluster } = site
    const [pod] = await tenant.pods()
    const [status] = pod!.status!.containerStatuses!
    const restarted = (restartCount: number, terminated: object) =>
      cluster.standIn!.setStatus('Pod', namespace, pod!.metadata!.name!, {
        ...pod!.status,
        containerStatuses: [{ ...status, restartCount, lastState: { terminated } }],
      })
    const reported = (of: Tenant) => of.runtime.restarts!(of.id)
    const finishedAt = '2026-11-27T12:00:00Z'
    restarted(1, { exitCode: 3, reason: 'Error', finishedAt, message: 'no the secret' })
    await expect.poll(() => reported(tenant).length).toBe(1)
    restarted(3, { exitCode: 137, reason: 'OOMKilled', finishedAt })
    await expect.poll(() => reported(tenant).length).toBe(3)
    const revisionId = tenant.run!.revision.id
    const about = { revisionId, at: '2026-11-27T12:00:00.000Z' }
    const killed = { ...about, reason: 'OUT_OF_MEMORY', exitCode: null, signal: 'SIGKILL' }
    expect(reported(tenant)).toMatchObject([
      {
        ...about,
        reason: 'CRASHED',
        exitCode: 3,
        signal: null,
        message: expect.stringMatching(/exited with code 3: no •+/),
      },
      killed,
      killed,
    ])
    await site.objects.create({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'probe', namespace },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', name: pod!.metadata!.name, namespace, uid: pod!.metadata!.uid },
      type: 'Warning',
      reason: 'Unhealthy',
      message: 'Liveness probe failed: HTTP probe failed with statuscode: 503',
    })
    restarted(4, { exitCode: 143, reason: 'Error', finishedAt })
    await expect.poll(() => reported(tenant)[3]).toMatchObject({ reason: 'HEALTH_CHECK_TIMED_OUT', signal: 'SIGTERM' })
    const measures = expect.objectContaining({ replicas: 1, restarts: 0 })
    expect(await tenant.runtime.measure!()).toContainEqual({
      deploymentId: tenant.id,
      revisionId,
      latencies: [],
      measures,
    })
    const other = tenant.takenOver((await site.another()).runtime, '2')
    other.ensure()
    await expect.poll(() => reported(other).map(({ id }) => id)).toEqual([reported(tenant)[3]!.id])
    const disruption = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'drained' }
    cluster.standIn!.setStatus('Pod', namespace, pod!.metadata!.name!, {
      ...pod!.status,
      conditions: [...pod!.status!.conditions!, { ...disruption, lastTransitionTime: finishedAt }],
    })
    await expect
      .poll(() => reported(tenant)[4])
      .toMatchObject({ ...about, reason: 'EVICTED', message: expect.stringMatching(/evicted: drained/) })
  },
)
